// The same as driver.hpp for algorithms: `bench-<contender>-algorithms <scenario> <workers> <size>`; a
// scenario that ends in "-slept" is measured after sleeps.
//
// A contender is a class R, made with the number of threads that may compute at once, the caller included:
//
//   r.run(f)                          f() inside the pool; returns when it is done. What follows is called
//   inside of it, and may lack.       T is a number, keyed_record or std::string.
//   r.sort(first, last)               T* in their own order; r.sort(first, last, less) in another one
//   r.stable_sort(first, last)        likewise
//   r.copy_if(in, out, f)             number of items; r.filter(in, f) a vector of them
//   r.partition(all, f)               number of items for which f is true
//   r.inclusive_scan(in, out)         sums; r.transform(in, out, f); r.map(in, f): a vector
//   r.reduce(in)                      the sum; r.reduce_deterministic(in)
//   r.min_element(in)                 a place; r.find_if(in, f) the same, or the number of items
//   r.histogram(in, counts)           of bytes; r.histogram_hoisted(in, counts): another way to do it
//   r.sweep(all, f)                   x = f(x) for all
//
// plus R::name and R::version(). The ranges are spans.
#pragma once

#include "../scenarios/passes.hpp"
#include "../scenarios/sorting.hpp"
#include "main.hpp"

namespace bench {

template<class R>
std::optional<measurement> perform_sorting(R& r, std::string_view what, pace how, std::uint64_t n) {
  if constexpr (requires(std::int32_t* p) { r.sort(p, p); }) {
    const auto sort = [&](auto* first, auto* last) { r.sort(first, last); };
    if (what == "sort-int") return sort_ints(r, how, n, random_int, sort);
    if (what == "sort-sorted") return sort_ints(r, how, n, rising_int, sort);
    if (what == "sort-reversed") return sort_ints(r, how, n, falling_int, sort);
    if (what == "sort-constant") return sort_ints(r, how, n, constant_int, sort);
    if (what == "sort-ten") return sort_ints(r, how, n, one_of_ten, sort);
    if (what == "sort-double") return sort_doubles(r, how, n, sort);
    if (what == "sort-string") return sort_strings(r, how, n, sort);
  }
  if constexpr (requires(keyed_record* p) { r.sort(p, p, by_key()); }) {
    const auto sort = [&](auto* first, auto* last) { r.sort(first, last, by_value()); };
    if (what == "sort-int-less") return sort_ints(r, how, n, random_int, sort);
    if (what == "sort-double-less") return sort_doubles(r, how, n, sort);
    if (what == "sort-record")
      return sort_records<false>(r, how, n, [&](auto* first, auto* last) { r.sort(first, last, by_key()); });
  }
  if constexpr (requires(keyed_record* p) { r.stable_sort(p, p, by_key()); }) {
    if (what == "stable-int")
      return sort_ints(r, how, n, random_int, [&](auto* first, auto* last) { r.stable_sort(first, last); });
    if (what == "stable-record")
      return sort_records<true>(r, how, n, [&](auto* f, auto* l) { r.stable_sort(f, l, by_key()); });
  }
  return std::nullopt;
}

template<class R>
std::optional<measurement> perform_passes(R& r, std::string_view what, pace how, std::uint64_t n) {
  using ints = std::span<const std::int32_t>;
  using doubles = std::span<const double>;
  using bytes = std::span<const std::uint8_t>;
  if constexpr (requires(std::int32_t* out) { r.copy_if(ints(), out, is_odd()); })
    if (what == "copyif") return copy_some(r, how, n);
  if constexpr (requires { r.filter(ints(), is_odd()); })
    if (what == "filter") return filter_some(r, how, n);
  if constexpr (requires { r.partition(std::span<std::int32_t>(), is_odd()); })
    if (what == "partition") return partition_half(r, how, n);
  if constexpr (requires(double* out) { r.inclusive_scan(doubles(), out); })
    if (what == "scan") return running_sums<double>(r, how, n, whole_double);
  if constexpr (requires(std::int32_t* out) { r.inclusive_scan(ints(), out); })
    if (what == "scan-int") return running_sums<std::int32_t>(r, how, n, one_of_ten);
  if constexpr (requires(double* out) { r.transform(doubles(), out, plus_one()); })
    if (what == "transform") return map_all(r, how, n);
  if constexpr (requires { r.map(doubles(), plus_one()); })
    if (what == "map") return map_to_new(r, how, n);
  if constexpr (requires { r.reduce(doubles()); })
    if (what == "reduce") return sum_up(r, how, n, [&](doubles in) { return r.reduce(in); });
  if constexpr (requires { r.reduce_deterministic(doubles()); })
    if (what == "reducefixed")
      return sum_up(r, how, n, [&](doubles in) { return r.reduce_deterministic(in); });
  if constexpr (requires { r.min_element(ints()); })
    if (what == "min") return least(r, how, n);
  if constexpr (requires { r.find_if(ints(), is_odd()); })
    if (what == "find") return search_in_vain(r, how, n);
  if constexpr (requires(counts& c) { r.histogram(bytes(), c); })
    if (what == "histogram") return count_bytes(r, how, n, [&](bytes in, counts& c) { r.histogram(in, c); });
  if constexpr (requires(counts& c) { r.histogram_hoisted(bytes(), c); })
    if (what == "histogramhoisted")
      return count_bytes(r, how, n, [&](bytes in, counts& c) { r.histogram_hoisted(in, c); });
  if constexpr (requires { r.sweep(std::span<double>(), plus_one()); })
    if (what == "sweeps") return sweeps(r, how, n);
  return std::nullopt;
}

template<class R>
int drive_algorithms(int argc, char** argv) {
  return run_scenario<R>(argc, argv, [](R& r, std::string_view scenario, unsigned, std::uint64_t size) {
    const std::string_view slept = "-slept";
    pace how = pace::back_to_back;
    if (scenario.ends_with(slept)) {
      how = pace::after_sleep;
      scenario.remove_suffix(slept.size());
    }
    const auto sorted = perform_sorting(r, scenario, how, size);
    return sorted ? sorted : perform_passes(r, scenario, how, size);
  });
}

} // namespace bench
