// Algorithms that go over their input once or twice: copies, searches, sums, a histogram, and many sweeps
// over one array. Per call.
#pragma once

#include "algorithm_data.hpp"
#include "repeat.hpp"

#include <array>

namespace bench {

/// Half of random numbers, in no order that a processor could foresee.
struct is_odd {
  bool operator()(std::int32_t v) const { return (v & 1) != 0; }
};
struct is_minus_one {
  bool operator()(std::int32_t v) const { return v == -1; }
};
struct twice_and_one {
  double operator()(double v) const { return 2 * v + 1; }
};
struct plus_one {
  double operator()(double v) const { return v + 1; }
};

using counts = std::array<std::uint64_t, 256>; ///< of each byte

template<class R>
measurement copy_some(R& r, pace how, std::uint64_t n) {
  const auto in = made_by<std::int32_t>(n, random_int);
  std::vector<std::int32_t> out(n);
  std::size_t kept = 0;
  auto m = repeat(r, how, repeats_for(n), [&] { kept = r.copy_if(std::span(in), out.data(), is_odd()); });
  m.checksum = checksum_of_some(std::span<const std::int32_t>(out).first(kept));
  return m;
}
template<class R>
measurement filter_some(R& r, pace how, std::uint64_t n) {
  const auto in = made_by<std::int32_t>(n, random_int);
  std::vector<std::int32_t> out;
  auto m = repeat(r, how, repeats_for(n), [&] { out = r.filter(std::span(in), is_odd()); });
  m.checksum = checksum_of_some(std::span<const std::int32_t>(out));
  return m;
}
template<class R>
measurement partition_half(R& r, pace how, std::uint64_t n) {
  const auto in = made_by<std::int32_t>(n, random_int);
  std::vector<std::int32_t> work(n);
  std::size_t first = 0;
  auto m = repeat_prepared(
      r, how, std::min<std::uint64_t>(100, repeats_for(n)),
      [&] { std::copy(in.begin(), in.end(), work.begin()); },
      [&] { first = r.partition(std::span(work), is_odd()); });
  const std::span<const std::int32_t> all(work);
  m.checksum = mixed(checksum_of_set(all.first(first)), checksum_of_set(all.subspan(first)));
  return m;
}
template<class T, class R, class Make>
measurement running_sums(R& r, pace how, std::uint64_t n, Make make) {
  const auto in = made_by<T>(n, make);
  std::vector<T> out(n);
  auto m = repeat(r, how, repeats_for(n), [&] { r.inclusive_scan(std::span(in), out.data()); });
  m.checksum = checksum_of_some(std::span<const T>(out));
  return m;
}
template<class R>
measurement map_all(R& r, pace how, std::uint64_t n) {
  const auto in = made_by<double>(n, whole_double);
  std::vector<double> out(n);
  auto m = repeat(r, how, repeats_for(n), [&] { r.transform(std::span(in), out.data(), twice_and_one()); });
  m.checksum = checksum_of_some(std::span<const double>(out));
  return m;
}
/// Into a vector of its own each time: its memory is allocated, filled and freed.
template<class R>
measurement map_to_new(R& r, pace how, std::uint64_t n) {
  const auto in = made_by<double>(n, whole_double);
  std::vector<double> out;
  auto m = repeat(r, how, repeats_for(n), [&] { out = r.map(std::span(in), twice_and_one()); });
  m.checksum = checksum_of_some(std::span<const double>(out));
  return m;
}
/// r.*sum(in): whatever the order, the same sum.
template<class R, class Sum>
measurement sum_up(R& r, pace how, std::uint64_t n, Sum sum) {
  const auto in = made_by<double>(n, whole_double);
  std::uint64_t bits = 0;
  auto m = repeat(r, how, repeats_for(n), [&] { bits = keep(bits_of(sum(std::span(in)))); });
  m.checksum = bits;
  return m;
}
template<class R>
measurement least(R& r, pace how, std::uint64_t n) {
  const auto in = made_by<std::int32_t>(n, random_int);
  std::size_t place = 0;
  auto m = repeat(r, how, repeats_for(n), [&] { place = keep(r.min_element(std::span(in))); });
  m.checksum = place;
  return m;
}
template<class R>
measurement search_in_vain(R& r, pace how, std::uint64_t n) {
  const auto in = made_by<std::int32_t>(n, positive_int);
  std::size_t place = 0;
  auto m = repeat(r, how, repeats_for(n), [&] { place = keep(r.find_if(std::span(in), is_minus_one())); });
  m.checksum = place;
  return m;
}
/// count(in, result): counts from nothing.
template<class R, class Count>
measurement count_bytes(R& r, pace how, std::uint64_t n, Count count) {
  const auto in =
      made_by<std::uint8_t>(n, [](std::uint64_t i) { return static_cast<std::uint8_t>(random_at(i) >> 56); });
  counts result{};
  auto m = repeat(r, how, std::min<std::uint64_t>(10, repeats_for(n)), [&] { count(std::span(in), result); });
  for (const auto c : result) m.checksum = mixed(m.checksum, c);
  return m;
}
/// 1.5 MB, again and again: half for each of two cores, if each gets the same half each time. Per sweep.
template<class R>
measurement sweeps(R& r, pace how, std::uint64_t times) {
  auto all = made_by<double>(1'500'000 / sizeof(double), whole_double);
  const auto original = all;
  auto m = repeat_prepared(
      r, how, 1, [&] { std::copy(original.begin(), original.end(), all.begin()); },
      [&] {
        for (std::uint64_t k = 0; k != times; ++k) r.sweep(std::span(all), plus_one());
      });
  m.ns /= static_cast<double>(times);
  m.cpu_ns /= static_cast<double>(times);
  m.checksum = checksum_of(std::span<const double>(all));
  return m;
}

} // namespace bench
