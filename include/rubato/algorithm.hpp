// Parallel loops and reductions. They need no grain size: a loop is split when, and only when, a worker is
// idle.
//
//   #include <rubato/algorithm.hpp>
//
//   #include <cstdio>
//   #include <functional>
//   #include <vector>
//
//   int main() {
//     std::vector<int> v(1000);
//     rubato::for_index(0, 1000, [&](int i) { v[std::size_t(i)] = i; });
//     rubato::for_each(v, [](int& x) { x *= 2; });
//     std::printf("%d\n", rubato::reduce(v, 0, std::plus<>())); // -> 999000
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/algorithm/copies.hpp"
#include "rubato/algorithm/order.hpp"
#include "rubato/detail/fork/index_loop.hpp"
#include "rubato/detail/fork/range_loop.hpp"
#include "rubato/detail/fork/reduction.hpp"
#include "rubato/join.hpp"
#include "rubato/thread_pool.hpp"

#include <functional>
#include <iterator>
#include <ranges>
#include <utility>

namespace rubato {

namespace detail {

struct for_index_fn : pool_forms<for_index_fn> {
  /// Calls f(i) for every i in [first, last), in any order, in parallel on the calling thread and every idle
  /// worker. Returns when all calls have returned. The type of i is the common type of the bounds. An empty
  /// or reversed interval makes no call. A negative bound beside an unsigned one is an error, which an
  /// assertion reports. Integers wider than 64 bits do not compile.
  ///
  /// Several threads may call f at once. After the first exception no further chunk begins, and running
  /// chunks are asked to stop; the loop throws the exception when they have ended. If the enclosing scope is
  /// stopped, the loop ends early and throws rubato::cancelled. While the calling thread waits, it runs only
  /// this loop. All calls have the floating-point modes of the calling thread, such as its rounding. Cost: n
  /// calls of f, and one compare-exchange per chunk. One thread makes the calls of a chunk, one after the
  /// other: at most 4,096, at most the calls that are left to it divided by the number of workers, and only
  /// one if the calls so far took more than 50 us each. Without another worker a loop takes a few nanoseconds
  /// more than a plain one, but the compiler may vectorise less of it: see for_range(). Related: lazy binary
  /// splitting (A. Tzannes et al., PPoPP 2010); here the thief splits.
  template<class I, class J, class F>
    requires loop_bound<I> && loop_bound<J>
  static void on(pool* p, I first, J last, F&& f) {
    call_for_each_index(p, first, last, f);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: for_index(first, last, f), for_index(pool, first, last, f): first and last are "
                  "integers, f comes last, and there is no grain size; for_each() takes ranges");
    return {};
  }
};

struct for_range_fn : pool_forms<for_range_fn> {
  /// Calls f(lo, hi) for chunks [lo, hi) that partition [first, last). Chunks get longer while they take less
  /// than 50 us, and shorter towards the end, down to one index. Otherwise as for_index. Where the work for
  /// an index takes a few nanoseconds, this is the faster loop: f can keep values from one index to the next,
  /// and the compiler sees an ordinary loop.
  template<class I, class J, class F>
    requires loop_bound<I> && loop_bound<J>
  static void on(pool* p, I first, J last, F&& f) {
    call_for_chunks(p, first, last, f);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: for_range(first, last, f), for_range(pool, first, last, f): first and last are "
                  "integers, and f comes last; for_each() takes ranges");
    return {};
  }
};

struct for_each_fn : pool_forms<for_each_fn> {
  /// Calls f(element) for every element of the range. Otherwise as for_index.
  /// - A random-access range of known size is split.
  /// - From any other forward range the threads take elements in batches under a lock. If the range has no
  ///   size, its iterator runs ahead of the calls of f.
  /// - From a single-pass range, such as the lines of a stream, they take one element at a time under a lock.
  ///   The iterator is advanced only when a thread is ready for the next element, so the range may answer to
  ///   what f did with those before. An element costs a lock: let f have more than 100 ns of work.
  template<std::ranges::input_range R, class F>
  static void on(pool* p, R&& range, F&& f) {
    call_for_each(p, range, f);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class F>
  static void on(pool* p, I first, S last, F&& f) {
    on(p, std::ranges::subrange(std::move(first), std::move(last)), f);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: for_each(range, f), for_each(first, last, f), each also with a pool first: first "
                  "and last are iterators, and f comes last; for_index() takes integers");
    return {};
  }
};

struct reduce_fn : pool_forms<reduce_fn> {
  /// Returns op(... op(op(init, map(x0)), map(x1)) ...). op must be associative and need not be commutative,
  /// because the elements keep the order of the range. init is used once. map defaults to the identity. T is
  /// the type of init; the results of op and map are converted to T. Several threads may call op and map at
  /// once. As in for_index, the range is split when a worker is idle, and an exception is thrown when all
  /// calls have ended. The calling thread alone reduces a range without random access.
  template<std::ranges::input_range R, class T, class Op, class Map = std::identity>
    requires(!are_swapped<std::ranges::range_reference_t<R>, T, Op, Map>)
  static T on(pool* p, R&& range, T init, Op op, Map map = {}) {
    return reduce_range(p, range, std::move(init), op, map);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class T, class Op, class Map = std::identity>
    requires(!are_swapped<std::iter_reference_t<I>, T, Op, Map>)
  static T on(pool* p, I first, S last, T init, Op op, Map map = {}) {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    return reduce_range(p, range, std::move(init), op, map);
  }

  /// reduce(deterministic, ...): reduces as a tree whose shape depends only on the length of the range. So a
  /// floating-point result has the same bits with any number of workers, also where the calling thread rounds
  /// otherwise or flushes denormal numbers to zero, but may differ from that of a serial loop. One thread
  /// reduces a leaf of the tree: at most n / 1,024 elements, at most 1,024, and one near the end of the
  /// range.
  template<std::ranges::random_access_range R, class T, class Op, class Map = std::identity>
    requires std::ranges::sized_range<R>
  static T on(pool* p, deterministic_t, R&& range, T init, Op op, Map map = {}) {
    return reduce_tree(p, range, std::move(init), op, map);
  }
  template<std::random_access_iterator I, std::sized_sentinel_for<I> S, class T, class Op,
           class Map = std::identity>
  static T on(pool* p, deterministic_t, I first, S last, T init, Op op, Map map = {}) {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    return reduce_tree(p, range, std::move(init), op, map);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(
        always_false<Other...>,
        "rubato: reduce(range, init, op, map) or reduce(first, last, init, op, map), map may be left "
        "out; before these a pool, and then deterministic, if the range has random access and a size");
    return {};
  }
};

} // namespace detail

inline constexpr detail::for_index_fn for_index{};
inline constexpr detail::for_range_fn for_range{};
inline constexpr detail::for_each_fn for_each{};
inline constexpr detail::reduce_fn reduce{};

} // namespace rubato
