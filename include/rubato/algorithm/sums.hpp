// Sums of ranges: reductions, folds and scans, by any associative operator.
//
//   #include <rubato/algorithm/sums.hpp>
//
//   #include <cstdio>
//   #include <functional>
//   #include <vector>
//
//   int main() {
//     std::vector<int> const prices{3, 1, 4, 1, 5};
//     std::vector<int> const counts{2, 7, 1, 8, 2};
//     std::vector<int> so_far(5);
//     int const total = rubato::reduce(prices, counts, 0, std::plus<>(), std::multiplies<>());
//     rubato::inclusive_scan(prices, so_far.begin());
//     std::printf("%d, %d of them\n", total, so_far[2]); // -> 35, 8 of them
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/algorithm/sums/folding.hpp"
#include "rubato/detail/algorithm/sums/reduction.hpp"
#include "rubato/detail/algorithm/sums/scan.hpp"
#include "rubato/thread_pool.hpp"

#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

struct reduce_fn : pool_forms<reduce_fn> {
  /// Returns op(... op(op(init, map(x0)), map(x1)) ...). op must be associative and need not be commutative,
  /// because the elements keep the order of the range. init is used once. map defaults to the identity. T is
  /// the type of init; the results of op and map are converted to T. Several threads call op and map at once,
  /// by const reference. As in for_index, the range is split when a worker is idle, and an exception is
  /// thrown when all calls have ended. The calling thread alone reduces a range without random access. Cost:
  /// n calls of op and of map. A thread reduces eight contiguous sub-blocks side by side, so that no addition
  /// waits for the one before, if T is of at most 16 bytes and trivially copyable, and the elements are
  /// contiguous.
  ///
  /// Numbers that are contiguous, with an operator that has no state (std::plus, a lambda without captures)
  /// and no map: the calling thread alone reduces up to 32,768, and then no pool is looked up.
  template<std::ranges::input_range R, class T, class Op, class Map = std::identity>
    requires(!are_swapped<std::ranges::range_reference_t<R>, T, Op, Map>)
  static T on(pool* p, R&& range, T init, Op op, Map map = {}) {
    return detail::reduce_range<false>(p, range, std::move(init), op, map);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class T, class Op, class Map = std::identity>
    requires(!are_swapped<std::iter_reference_t<I>, T, Op, Map> && !maps_pairs<Map, I, I>)
  static T on(pool* p, I first, S last, T init, Op op, Map map = {}) {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    return detail::reduce_range<false>(p, range, std::move(init), op, map);
  }

  /// Of the pairs of two ranges: op(... op(op(init, map(x0, y0)), map(x1, y1)) ...), for instance an inner
  /// product. There are as many pairs as the first range has elements, and the second range must have no
  /// fewer, as in std::transform_reduce. map must be given.
  template<std::ranges::input_range R1, std::ranges::input_range R2, class T, class Op, class Map>
    requires maps_pairs<Map, std::ranges::iterator_t<R1>, std::ranges::iterator_t<R2>>
  static T on(pool* p, R1&& r1, R2&& r2, T init, Op op, Map map) {
    return detail::reduce_pairs<false>(p, r1, r2, std::move(init), op, map);
  }
  template<std::input_iterator I1, std::sentinel_for<I1> S, std::input_iterator I2, class T, class Op,
           class Map>
    requires maps_pairs<Map, I1, I2>
  static T on(pool* p, I1 first1, S last1, I2 first2, T init, Op op, Map map) {
    auto r1 = std::ranges::subrange(std::move(first1), std::move(last1));
    auto r2 = std::ranges::subrange(std::move(first2), std::unreachable_sentinel);
    return detail::reduce_pairs<false>(p, r1, r2, std::move(init), op, map);
  }

  /// reduce(deterministic, ...): reduces as a tree whose shape depends only on the length of the range and on
  /// the types. So a floating-point result has the same bits with any number of workers, also where the
  /// calling thread rounds otherwise or flushes denormal numbers to zero, but may differ from that of a
  /// serial loop. One thread reduces a leaf of the tree: at most n / 1,024 elements, at most 1,024, and one
  /// near the end of the range. (Of contiguous numbers without a map: a 512th of them, or a few thousand.
  /// There the form without the tag does the same.)
  template<std::ranges::random_access_range R, class T, class Op, class Map = std::identity>
    requires std::ranges::sized_range<R>
  static T on(pool* p, deterministic_t, R&& range, T init, Op op, Map map = {}) {
    return detail::reduce_range<true>(p, range, std::move(init), op, map);
  }
  template<std::random_access_iterator I, std::sized_sentinel_for<I> S, class T, class Op,
           class Map = std::identity>
    requires(!maps_pairs<Map, I, I>)
  static T on(pool* p, deterministic_t, I first, S last, T init, Op op, Map map = {}) {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    return detail::reduce_range<true>(p, range, std::move(init), op, map);
  }
  template<std::ranges::random_access_range R1, std::ranges::random_access_range R2, class T, class Op,
           class Map>
    requires std::ranges::sized_range<R1> &&
             maps_pairs<Map, std::ranges::iterator_t<R1>, std::ranges::iterator_t<R2>>
  static T on(pool* p, deterministic_t, R1&& r1, R2&& r2, T init, Op op, Map map) {
    return detail::reduce_pairs<true>(p, r1, r2, std::move(init), op, map);
  }
  template<std::random_access_iterator I1, std::sized_sentinel_for<I1> S, std::random_access_iterator I2,
           class T, class Op, class Map>
    requires maps_pairs<Map, I1, I2>
  static T on(pool* p, deterministic_t, I1 first1, S last1, I2 first2, T init, Op op, Map map) {
    auto r1 = std::ranges::subrange(std::move(first1), std::move(last1));
    auto r2 = std::ranges::subrange(std::move(first2), std::unreachable_sentinel);
    return detail::reduce_pairs<true>(p, r1, r2, std::move(init), op, map);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(
        always_false<Other...>,
        "rubato: reduce(range, init, op, map) or reduce(first, last, init, op, map), map may be left "
        "out; reduce(r1, r2, init, op, map) or reduce(first1, last1, first2, init, op, map) with "
        "map(x, y); before these a pool, and then deterministic, if the range has random access and a size");
    return {};
  }
};

struct fold_fn : pool_forms<fold_fn> {
  /// Folds each piece of the range into an accumulator of its own, and merges the accumulators in the order
  /// of the range. make() makes one, add(accumulator, element) adds an element, merge(accumulator,
  /// accumulator) takes the second one, of later elements, into the first. add and merge change the
  /// accumulator that they get by reference, or return the new one: a returned value that converts to the
  /// accumulator replaces it. Returns the last accumulator: make() if the range is empty.
  ///
  /// How the range is cut depends on what the threads do. The result does not if merge is associative, make()
  /// makes what merge leaves as it is, and add(merge(a, b), x) is merge(a, add(b, x)). Several threads call
  /// all three at once, by const reference, but an accumulator is used by one thread at a time. A piece
  /// begins when a worker is idle, so there are few: make() may allocate. Exceptions, stops, and ranges
  /// without random access as in reduce(). Cost: n calls of add, and one of make and merge per piece. Source:
  /// fold and reduce of rayon; parallel_reduce of oneTBB.
  template<std::ranges::input_range R, class Make, class Add, class Merge>
  static auto on(pool* p, R&& range, Make make, Add add, Merge merge_with) {
    return detail::fold_range(p, range, make, add, merge_with);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class Make, class Add, class Merge>
  static auto on(pool* p, I first, S last, Make make, Add add, Merge merge_with) {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    return detail::fold_range(p, range, make, add, merge_with);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: fold(range, make, add, merge) or fold(first, last, make, add, merge), each also "
                  "with a pool first: make() -> accumulator, add(accumulator, element), "
                  "merge(accumulator, accumulator)");
    return {};
  }
};

struct inclusive_scan_fn : pool_forms<inclusive_scan_fn> {
  /// inclusive_scan(range, out, op = std::plus, init): writes out[i] = op(... op(op(init, x0), x1) ..., xi)
  /// for each i, and returns out + n. Without init the first element takes its place. op must be associative,
  /// need not be commutative, and is called by several threads at once, by const reference. T is the type of
  /// init, else of the elements, and must be copyable. The output may be the input; otherwise they must not
  /// overlap.
  ///
  /// The range is scanned in parallel if it has random access and a size, and `out` has random access and is
  /// not of a vector<bool>; else by the calling thread. Exceptions and stops as in for_index; what
  /// has been written then is unspecified. Cost: n calls of op where one thread works alone, at most 2 n + n
  /// / 8 otherwise; O(n / 4096) memory. Contiguous numbers by an operator without state: up to 32,768 are
  /// scanned by the calling thread alone, and no pool is looked up; floating-point numbers in groups of
  /// eight, which calls op 2 n + n / 4 times, and is more than twice as fast as a serial scan. Source: see
  /// docs/design/algorithms.md.
  template<std::ranges::input_range R, std::weakly_incrementable O, class Op = std::plus<>>
    requires scans_by<Op, no_init, std::identity, std::ranges::iterator_t<R>>
  static O on(scan_place at, R&& range, O out, Op op = {}) {
    return detail::scan_range<scan_kind::inclusive>(at, range, std::move(out), op, std::identity(),
                                                    no_init());
  }
  template<std::ranges::input_range R, std::weakly_incrementable O, class Op, class T>
    requires scans_by<Op, T, std::identity, std::ranges::iterator_t<R>>
  static O on(scan_place at, R&& range, O out, Op op, T init) {
    return detail::scan_range<scan_kind::inclusive>(at, range, std::move(out), op, std::identity(),
                                                    std::move(init));
  }
  template<std::input_iterator I, std::sentinel_for<I> S, std::weakly_incrementable O, class Op = std::plus<>>
    requires scans_by<Op, no_init, std::identity, I>
  static O on(scan_place at, I first, S last, O out, Op op = {}) {
    return on(at, std::ranges::subrange(std::move(first), std::move(last)), std::move(out), std::move(op));
  }
  template<std::input_iterator I, std::sentinel_for<I> S, std::weakly_incrementable O, class Op, class T>
    requires scans_by<Op, T, std::identity, I>
  static O on(scan_place at, I first, S last, O out, Op op, T init) {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    return detail::scan_range<scan_kind::inclusive>(at, range, std::move(out), op, std::identity(),
                                                    std::move(init));
  }
  /// inclusive_scan(deterministic, ...): the same bits with any number of workers. Each block of the range is
  /// added up before it is scanned, but where the form without the tag gives the same bits in any case: with
  /// contiguous numbers and an operator without state.
  template<class... Arguments>
  static auto on(scan_place at, deterministic_t, Arguments&&... arguments) {
    return on(at.deterministically(), std::forward<Arguments>(arguments)...);
  }
  template<class... Other>
  static refused on(scan_place /*at*/, Other&&... /*arguments*/) {
    static_assert(
        always_false<Other...>,
        "rubato: inclusive_scan(range, out, op, init) or inclusive_scan(first, last, out, op, init), "
        "init and op may be left out; before these a pool, and then deterministic");
    return {};
  }
};

struct exclusive_scan_fn : pool_forms<exclusive_scan_fn> {
  /// exclusive_scan(range, out, init, op = std::plus): writes out[0] = init, out[1] = op(init, x0), ...: the
  /// element i is not in out[i]. T is the type of init. Otherwise as inclusive_scan().
  template<std::ranges::input_range R, std::weakly_incrementable O, class T, class Op = std::plus<>>
    requires scans_by<Op, T, std::identity, std::ranges::iterator_t<R>>
  static O on(scan_place at, R&& range, O out, T init, Op op = {}) {
    return detail::scan_range<scan_kind::exclusive>(at, range, std::move(out), op, std::identity(),
                                                    std::move(init));
  }
  template<std::input_iterator I, std::sentinel_for<I> S, std::weakly_incrementable O, class T,
           class Op = std::plus<>>
    requires scans_by<Op, T, std::identity, I>
  static O on(scan_place at, I first, S last, O out, T init, Op op = {}) {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    return detail::scan_range<scan_kind::exclusive>(at, range, std::move(out), op, std::identity(),
                                                    std::move(init));
  }
  /// exclusive_scan(deterministic, ...): see inclusive_scan(deterministic, ...).
  template<class... Arguments>
  static auto on(scan_place at, deterministic_t, Arguments&&... arguments) {
    return on(at.deterministically(), std::forward<Arguments>(arguments)...);
  }
  template<class... Other>
  static refused on(scan_place /*at*/, Other&&... /*arguments*/) {
    static_assert(
        always_false<Other...>,
        "rubato: exclusive_scan(range, out, init, op) or exclusive_scan(first, last, out, init, op), "
        "op may be left out; before these a pool, and then deterministic");
    return {};
  }
};

struct transform_inclusive_scan_fn : pool_forms<transform_inclusive_scan_fn> {
  /// transform_inclusive_scan(range, out, op, map, init): inclusive_scan() of map(x0), map(x1), ... init may
  /// be left out. map is called by several threads at once, by const reference, once or twice for each
  /// element.
  template<std::ranges::input_range R, std::weakly_incrementable O, class Op, class Map>
    requires scans_by<Op, no_init, Map, std::ranges::iterator_t<R>>
  static O on(scan_place at, R&& range, O out, Op op, Map map) {
    return detail::scan_range<scan_kind::inclusive>(at, range, std::move(out), op, map, no_init());
  }
  template<std::ranges::input_range R, std::weakly_incrementable O, class Op, class Map, class T>
    requires scans_by<Op, T, Map, std::ranges::iterator_t<R>>
  static O on(scan_place at, R&& range, O out, Op op, Map map, T init) {
    return detail::scan_range<scan_kind::inclusive>(at, range, std::move(out), op, map, std::move(init));
  }
  template<std::input_iterator I, std::sentinel_for<I> S, std::weakly_incrementable O, class Op, class Map>
    requires scans_by<Op, no_init, Map, I>
  static O on(scan_place at, I first, S last, O out, Op op, Map map) {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    return detail::scan_range<scan_kind::inclusive>(at, range, std::move(out), op, map, no_init());
  }
  template<std::input_iterator I, std::sentinel_for<I> S, std::weakly_incrementable O, class Op, class Map,
           class T>
    requires scans_by<Op, T, Map, I>
  static O on(scan_place at, I first, S last, O out, Op op, Map map, T init) {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    return detail::scan_range<scan_kind::inclusive>(at, range, std::move(out), op, map, std::move(init));
  }
  /// transform_inclusive_scan(deterministic, ...): see inclusive_scan(deterministic, ...).
  template<class... Arguments>
  static auto on(scan_place at, deterministic_t, Arguments&&... arguments) {
    return on(at.deterministically(), std::forward<Arguments>(arguments)...);
  }
  template<class... Other>
  static refused on(scan_place /*at*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: transform_inclusive_scan(range, out, op, map, init) or transform_inclusive_scan("
                  "first, last, out, op, map, init), init may be left out; before these a pool, and then "
                  "deterministic");
    return {};
  }
};

struct transform_exclusive_scan_fn : pool_forms<transform_exclusive_scan_fn> {
  /// transform_exclusive_scan(range, out, init, op, map): exclusive_scan() of map(x0), map(x1), ... map is
  /// called by several threads at once, by const reference, once or twice for each element.
  template<std::ranges::input_range R, std::weakly_incrementable O, class T, class Op, class Map>
    requires scans_by<Op, T, Map, std::ranges::iterator_t<R>>
  static O on(scan_place at, R&& range, O out, T init, Op op, Map map) {
    return detail::scan_range<scan_kind::exclusive>(at, range, std::move(out), op, map, std::move(init));
  }
  template<std::input_iterator I, std::sentinel_for<I> S, std::weakly_incrementable O, class T, class Op,
           class Map>
    requires scans_by<Op, T, Map, I>
  static O on(scan_place at, I first, S last, O out, T init, Op op, Map map) {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    return detail::scan_range<scan_kind::exclusive>(at, range, std::move(out), op, map, std::move(init));
  }
  /// transform_exclusive_scan(deterministic, ...): see inclusive_scan(deterministic, ...).
  template<class... Arguments>
  static auto on(scan_place at, deterministic_t, Arguments&&... arguments) {
    return on(at.deterministically(), std::forward<Arguments>(arguments)...);
  }
  template<class... Other>
  static refused on(scan_place /*at*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: transform_exclusive_scan(range, out, init, op, map) or transform_exclusive_scan("
                  "first, last, out, init, op, map); before these a pool, and then deterministic");
    return {};
  }
};

} // namespace detail

inline constexpr detail::reduce_fn reduce{};
inline constexpr detail::fold_fn fold{};
inline constexpr detail::inclusive_scan_fn inclusive_scan{};
inline constexpr detail::exclusive_scan_fn exclusive_scan{};
inline constexpr detail::transform_inclusive_scan_fn transform_inclusive_scan{};
inline constexpr detail::transform_exclusive_scan_fn transform_exclusive_scan{};

} // namespace rubato
