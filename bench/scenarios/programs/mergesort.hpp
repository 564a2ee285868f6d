// examples/algorithms/mergesort.hpp on any contender: random numbers of 32 bits; the whole sort.
#pragma once

#include "../fib.hpp"

#include <algorithms/serial/insertion_sort.hpp>
#include <algorithms/serial/merge_runs.hpp>
#include <shared/random_at.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace bench {

using numbers = std::span<std::uint32_t>;
using sorted_numbers = std::span<const std::uint32_t>;

inline constexpr std::size_t worth_a_fork = 1024;

inline std::vector<std::uint32_t> random_numbers(std::uint64_t n) {
  std::vector<std::uint32_t> all(n);
  for (std::uint64_t i = 0; i != n; ++i) all[i] = static_cast<std::uint32_t>(example::random_at(0, i));
  return all;
}

/// Of the numbers and their places.
inline std::uint64_t sum_of_places(sorted_numbers all) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i != all.size(); ++i) sum += (i + 1) * all[i];
  return sum;
}

template<class R>
void merge_in_halves(sorted_numbers a, sorted_numbers b, numbers out) {
  if (out.size() <= 4 * worth_a_fork) return algorithms::merge_runs(a, b, out, std::less<>());
  std::size_t from_a = 0, from_b = 0;
  if (a.size() >= b.size()) {
    from_a = a.size() / 2;
    from_b = static_cast<std::size_t>(std::ranges::lower_bound(b, a[from_a]) - b.begin());
  } else {
    from_b = b.size() / 2;
    from_a = static_cast<std::size_t>(std::ranges::upper_bound(a, b[from_b]) - a.begin());
  }
  const std::size_t middle = from_a + from_b;
  const auto part = [](auto f) { return [f] { return f(), 0; }; };
  static_cast<void>(
      R::join(part([=] { merge_in_halves<R>(a.first(from_a), b.first(from_b), out.first(middle)); }),
              part([=] { merge_in_halves<R>(a.subspan(from_a), b.subspan(from_b), out.subspan(middle)); })));
}

template<class R>
void sort_into(numbers items, numbers other, bool into_other) {
  if (items.size() <= algorithms::few) {
    algorithms::insertion_sort(items, std::less<>());
    if (into_other) std::ranges::copy(items, other.begin());
    return;
  }
  const std::size_t middle = items.size() / 2;
  const auto first = [=] { return sort_into<R>(items.first(middle), other.first(middle), !into_other), 0; };
  const auto second = [=] {
    return sort_into<R>(items.subspan(middle), other.subspan(middle), !into_other), 0;
  };
  if (items.size() <= worth_a_fork) {
    first();
    second();
  } else {
    static_cast<void>(R::join(first, second));
  }
  const sorted_numbers from = into_other ? items : other;
  merge_in_halves<R>(from.first(middle), from.subspan(middle), into_other ? other : items);
}

template<class R>
measurement mergesort(R& r, std::uint64_t n) {
  auto items = random_numbers(n);
  std::vector<std::uint32_t> other(n);
  warm_up(r);
  measurement m;
  r.run([&] { m = timed(1, [&] { return sort_into<R>(items, other, false), std::uint64_t{0}; }); });
  m.checksum = sum_of_places(items);
  return m;
}

} // namespace bench
