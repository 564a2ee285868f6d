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
#include "rubato/algorithm/search.hpp"
#include "rubato/algorithm/sums.hpp"
#include "rubato/algorithm/tiles.hpp"
#include "rubato/detail/fork/index_loop.hpp"
#include "rubato/detail/fork/range_loop.hpp"
#include "rubato/join.hpp"
#include "rubato/thread_pool.hpp"

#include <concepts>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <utility>

namespace rubato {

/// The least number of indices that for_range() gives to one call, or of elements that a thread takes at once
/// in for_each(). Throws std::invalid_argument if it is below 1.
class min_chunk {
  std::uint64_t indices_;

public:
  /// n indices or elements.
  template<std::integral I>
  explicit constexpr min_chunk(I n)
      : indices_(n > 0 ? static_cast<std::uint64_t>(n)
                       : throw std::invalid_argument("rubato: min_chunk(n): n is at least 1")) {}
  /// The number of indices or elements.
  [[nodiscard]] constexpr std::uint64_t indices() const noexcept { return indices_; }
};

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
    detail::call_for_each_index(p, first, last, f);
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
    detail::call_for_chunks(p, first, last, f);
  }
  /// for_range(first, last, min_chunk(n), f): each chunk begins at a multiple of n indices behind `first` and
  /// has a multiple of n indices, at least n. Only the last one of the interval may have fewer. For work that
  /// pays from a certain length on. Threads share (last - first) / n units of work, so a large n leaves
  /// workers idle.
  template<class I, class J, class F>
    requires loop_bound<I> && loop_bound<J>
  static void on(pool* p, I first, J last, min_chunk least, F&& f) {
    detail::call_for_long_chunks(p, first, last, least.indices(), f);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: for_range(first, last, f), for_range(pool, first, last, f): first and last are "
                  "integers, and f comes last, behind min_chunk(n) if there is one; for_each() takes ranges");
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
    detail::call_for_each(p, range, f);
  }
  /// for_each(range, min_chunk(n), f): a thread takes at least n elements at once, unless fewer are left. If
  /// the range has at most n, the calling thread makes all calls, and no other one is woken. For work that
  /// pays from a certain length on. Not for single-pass ranges. Memory: for each thread n iterators, and for
  /// a range without a size 2 n more.
  template<std::ranges::input_range R, class F>
  static void on(pool* p, R&& range, min_chunk least, F&& f) {
    detail::call_for_each_in_long_chunks(p, range, least.indices(), f);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class F>
  static void on(pool* p, I first, S last, F&& f) {
    on(p, std::ranges::subrange(std::move(first), std::move(last)), f);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class F>
  static void on(pool* p, I first, S last, min_chunk least, F&& f) {
    on(p, std::ranges::subrange(std::move(first), std::move(last)), least, f);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: for_each(range, f), for_each(first, last, f), each also with a pool first: first "
                  "and last are iterators, and f comes last, behind min_chunk(n) if there is one; "
                  "for_index() takes integers");
    return {};
  }
};

} // namespace detail

inline constexpr detail::for_index_fn for_index{};
inline constexpr detail::for_range_fn for_range{};
inline constexpr detail::for_each_fn for_each{};

} // namespace rubato
