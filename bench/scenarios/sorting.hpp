// Sorts of what algorithm_data.hpp makes. Short arrays are sorted in batches, each array another one: a
// processor learns the branches of an array that it meets again.
#pragma once

#include "algorithm_data.hpp"
#include "repeat.hpp"

namespace bench {

/// Arrays of n items one after the other, the whole at least so long.
inline constexpr std::uint64_t batch_items = 1 << 20;

/// sort(first, last) of `n` items at a time, each restored before it is sorted again. Per sort.
template<class R, class T, class Sort, class Checksum>
measurement sorting(R& r, pace how, const std::vector<T>& original, std::uint64_t n, Sort sort,
                    Checksum checksum) {
  std::vector<T> work(original);
  const std::uint64_t arrays = original.size() / n;
  const auto restore = [&] { std::copy(original.begin(), original.end(), work.begin()); };
  const auto one_after_the_other = [&] {
    for (std::uint64_t k = 0; k != arrays; ++k) sort(work.data() + k * n, work.data() + (k + 1) * n);
  };
  // A sort after a sleep is one sort.
  const auto repeats = n >= 1'000'000 ? std::uint64_t{1} : arrays > 1 ? 3 : 10;
  measurement m = repeat_prepared(r, how, repeats, restore, one_after_the_other);
  m.ns /= static_cast<double>(arrays);
  m.cpu_ns /= static_cast<double>(arrays);
  m.checksum = checksum(std::span<const T>(work));
  return m;
}

/// Enough for a batch, if n is small and sorts come back to back.
inline std::uint64_t items_for(std::uint64_t n, pace how) {
  if (n >= 100'000 || how == pace::after_sleep) return n;
  return n * std::max<std::uint64_t>(1, batch_items / n);
}

template<class R, class Sort>
measurement sort_ints(R& r, pace how, std::uint64_t n, std::int32_t value(std::uint64_t), Sort sort) {
  const auto all = made_by<std::int32_t>(items_for(n, how), value);
  return sorting(r, how, all, n, sort, checksum_of<std::int32_t>);
}
template<class R, class Sort>
measurement sort_doubles(R& r, pace how, std::uint64_t n, Sort sort) {
  const auto all = made_by<double>(items_for(n, how), random_double);
  return sorting(r, how, all, n, sort, checksum_of<double>);
}
template<bool Stable, class R, class Sort>
measurement sort_records(R& r, pace how, std::uint64_t n, Sort sort) {
  const auto all = made_by<keyed_record>(items_for(n, how),
                                         [](std::uint64_t i) { return keyed_record{random_at(i) >> 40, i}; });
  return sorting(r, how, all, n, sort, checksum_of_records<Stable>);
}
template<class R, class Sort>
measurement sort_strings(R& r, pace how, std::uint64_t n, Sort sort) {
  const auto all = made_by<std::string>(items_for(n, how), random_string);
  return sorting(r, how, all, n, sort, checksum_of<std::string>);
}

inline std::int32_t rising_int(std::uint64_t i) { return static_cast<std::int32_t>(i); }
inline std::int32_t falling_int(std::uint64_t i) { return -static_cast<std::int32_t>(i); }
inline std::int32_t constant_int(std::uint64_t) { return 42; }
inline std::int32_t one_of_ten(std::uint64_t i) { return static_cast<std::int32_t>(random_at(i) % 10); }

} // namespace bench
