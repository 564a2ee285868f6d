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

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/fork/iterator_source.hpp"
#include "rubato/detail/fork/loop.hpp"
#include "rubato/detail/fork/reduction.hpp"
#include "rubato/join.hpp"
#include "rubato/thread_pool.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

/// Calls `each(me, lo, hi)` for chunks of [0, n).
template<class Chunk>
struct chunk_body {
  struct cell {};
  loop_root root;
  Chunk& chunk;
  cell nothing{};

  chunk_body(thread_context& me, Chunk& c)
      : root(me)
      , chunk(c) {}
  cell* first_cell(std::uint64_t) noexcept { return &nothing; }
  cell* next_cell(cell* c) noexcept { return c; }
  void drop_cell(cell*, cell*) noexcept {}
  void operator()(cell&, thread_context& me, std::uint64_t lo, std::uint64_t hi) { chunk(me, lo, hi); }
};

template<class Chunk>
void for_chunks(pool* p, std::uint64_t n, Chunk chunk) {
  if (n == 0) return;
  auto const work = [&](thread_context& me) {
    chunk_body<Chunk> body(me, chunk);
    run_loop(me, body, n);
  };
  thread_context& me = *current;
  if (me.core != nullptr && p == nullptr)
    work(me);
  else
    on_pool(p, [&](thread_context& guest) { work(guest); });
}

template<class I>
std::uint64_t distance_of(I first, I last) noexcept {
  return first < last ? static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) : 0;
}

template<class I>
I advance_by(I first, std::uint64_t n) noexcept {
  return static_cast<I>(static_cast<std::uint64_t>(first) + n);
}

/// Also true for wider integers, which an assertion refuses with a message: whether they are std::integral
/// depends on the compiler's dialect.
template<class T>
concept loop_bound = std::integral<T>
#if defined(__SIZEOF_INT128__)
                     || std::is_same_v<T, decltype(__int128{})> || std::is_same_v<T, decltype(__uint128_t{})>
#endif
    ;

/// Converts a bound to the bounds' common type.
template<class Index, class I>
Index bound_as(I bound) noexcept {
  static_assert(
      sizeof(Index) <= sizeof(std::uint64_t),
      "rubato: the bounds of a loop are integers of at most 64 bits: convert a bound of type __int128");
  if constexpr (std::is_signed_v<I> && std::is_unsigned_v<Index>)
    RUBATO_ASSERT(
        bound >= 0,
        "a loop has a negative bound beside an unsigned one, which would make it a huge number: give both "
        "bounds a signed type",
        bound);
  return static_cast<Index>(bound);
}

struct for_index_fn : pool_forms<for_index_fn> {
  /// Calls f(i) for every i in [first, last), in any order, in parallel on the calling thread and every idle
  /// worker. Returns when all calls have returned. The type of i is the common type of the bounds. An empty
  /// or reversed interval makes no call. A negative bound beside an unsigned one is an error, which an
  /// assertion reports. Integers wider than 64 bits do not compile.
  ///
  /// Several threads may call f at once. After the first exception no further chunk begins, and running
  /// chunks are asked to stop; the loop throws the exception when they have ended. If the enclosing scope is
  /// stopped, the loop ends early and throws rubato::cancelled. While the calling thread waits, it runs only
  /// this loop. n calls of f, and one compare-exchange per chunk of up to 4,096 calls: without another worker
  /// a loop costs a few nanoseconds more than a plain one. Related: lazy binary splitting (A. Tzannes et al.,
  /// PPoPP 2010); here the thief splits.
  template<class I, class J, class F>
    requires loop_bound<I> && loop_bound<J>
  static void on(pool* p, I first, J last, F&& f) {
    using index = std::common_type_t<I, J>;
    constexpr bool f_fits = fits<F&, index>;
    static_assert(f_fits, "rubato: for_index(first, last, f): f must be callable as f(index)");
    auto const from = bound_as<index>(first);
    if constexpr (f_fits)
      for_chunks(p, distance_of(from, bound_as<index>(last)),
                 [&f, from](thread_context& me, std::uint64_t lo, std::uint64_t hi) {
                   for (; lo != hi; ++lo) static_cast<void>(call_and_wait(me, f, advance_by(from, lo)));
                 });
  }
};

struct for_range_fn : pool_forms<for_range_fn> {
  /// Calls f(lo, hi) for chunks [lo, hi) that partition [first, last). Chunks get longer while they take less
  /// than 50 us. Otherwise as for_index.
  template<class I, class J, class F>
    requires loop_bound<I> && loop_bound<J>
  static void on(pool* p, I first, J last, F&& f) {
    using index = std::common_type_t<I, J>;
    constexpr bool f_fits = fits<F&, index, index>;
    static_assert(f_fits, "rubato: for_range(first, last, f): f must be callable as f(lo, hi)");
    auto const from = bound_as<index>(first);
    if constexpr (f_fits)
      for_chunks(p, distance_of(from, bound_as<index>(last)),
                 [&f, from](thread_context& me, std::uint64_t lo, std::uint64_t hi) {
                   static_cast<void>(call_and_wait(me, f, advance_by(from, lo), advance_by(from, hi)));
                 });
  }
};

template<class R>
concept splittable = std::ranges::random_access_range<R> && std::ranges::sized_range<R>;

struct for_each_fn : pool_forms<for_each_fn> {
  /// Calls f(element) for every element of the range. A random-access range of known size is split. From any
  /// other range, an input range too, the threads take elements in short chunks under a lock. Otherwise as
  /// for_index.
  template<std::ranges::input_range R, class F>
  static void on(pool* p, R&& range, F&& f) {
    static_assert(f_fits<R, F>, "rubato: for_each(range, f): f must be callable as f(element)");
    if constexpr (f_fits<R, F>) run(p, range, f);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class F>
  static void on(pool* p, I first, S last, F&& f) {
    on(p, std::ranges::subrange(std::move(first), std::move(last)), f);
  }

private:
  // An element of an input range is passed as an lvalue if f accepts one.
  template<class R, class F>
  static constexpr bool takes_lvalues = fits<F&, std::ranges::range_value_t<R&>&>;
  template<class R, class F>
  static constexpr bool f_fits =
      std::ranges::forward_range<R&> ? fits<F&, std::ranges::range_reference_t<R&>>
                                     : takes_lvalues<R, F> || fits<F&, std::ranges::range_value_t<R&>>;

  template<class R, class F>
  static void run(pool* p, R& range, F& f) {
    if constexpr (splittable<R&>) {
      auto const first = std::ranges::begin(range);
      using difference = std::ranges::range_difference_t<R&>;
      for_chunks(p, static_cast<std::uint64_t>(std::ranges::size(range)),
                 [&f, first](thread_context& me, std::uint64_t lo, std::uint64_t hi) {
                   auto i = first + static_cast<difference>(lo);
                   for (; lo != hi; ++lo, ++i) static_cast<void>(call_and_wait(me, f, *i));
                 });
    } else {
      iterator_source<R, takes_lvalues<R, F>> source(range);
      auto const pull_all = [&source, &f](thread_context& me) {
        stop_around const stop(me);
        source.drain([&stop] { return stop.stopped(); },
                     [&](auto&& element) {
                       static_cast<void>(call_and_wait(me, f, std::forward<decltype(element)>(element)));
                     });
      };
      thread_context& me = *current;
      // One share per worker; a late worker finds its share empty.
      unsigned const shares = std::max(1U, size_of(*core_of(pool_or_current(p))));
      if (me.core == nullptr || p != nullptr || shares > 1)
        for_chunks(p, shares, [&](thread_context& m, std::uint64_t lo, std::uint64_t hi) {
          for (; lo != hi; ++lo) pull_all(m);
        });
      else
        pull_all(me);
    }
  }
};

struct reduce_fn : pool_forms<reduce_fn> {
  /// Returns op(... op(op(init, map(x0)), map(x1)) ...). op must be associative and need not be commutative,
  /// because the elements keep the order of the range. init is used once. map defaults to the identity. T is
  /// the type of init; the results of op and map are converted to T. Several threads may call op and map at
  /// once. As in for_index, the range is split when a worker is idle, and an exception is thrown when all
  /// calls have ended. The calling thread alone reduces a range without random access.
  template<std::ranges::input_range R, class T, class Op, class Map = std::identity>
  static T on(pool* p, R&& range, T init, Op op, Map map = {}) {
    return run(p, range, std::move(init), op, map);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class T, class Op, class Map = std::identity>
  static T on(pool* p, I first, S last, T init, Op op, Map map = {}) {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    return run(p, range, std::move(init), op, map);
  }

  /// reduce(deterministic, ...): reduces as a tree whose shape depends only on the length of the range. So a
  /// floating-point result has the same bits with any number of workers, but may differ from that of a serial
  /// loop.
  template<std::ranges::random_access_range R, class T, class Op, class Map = std::identity>
    requires std::ranges::sized_range<R>
  static T on(pool* p, deterministic_t, R&& range, T init, Op op, Map map = {}) {
    return run_tree(p, range, std::move(init), op, map);
  }
  template<std::random_access_iterator I, std::sized_sentinel_for<I> S, class T, class Op,
           class Map = std::identity>
  static T on(pool* p, deterministic_t, I first, S last, T init, Op op, Map map = {}) {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    return run_tree(p, range, std::move(init), op, map);
  }

private:
  /// True if op and map fit a reduction; otherwise an assertion fails with a message.
  template<class R, class T, class Op, class Map>
  [[nodiscard]] static consteval bool fit() {
    using element = std::ranges::range_reference_t<R&>;
    constexpr bool map_fits = gives<Map&, T, element>;
    static_assert(map_fits, "rubato: reduce(range, init, op, map): map must be callable as map(element), and "
                            "its result must convert to T, the type of init");
    if constexpr (map_fits) {
      // A range that is not split has only one partial result.
      constexpr bool op_fits =
          gives<Op&, T, T, std::invoke_result_t<Map&, element>> && (!splittable<R&> || gives<Op&, T, T, T>);
      static_assert(op_fits,
                    "rubato: reduce(range, init, op, map): op must be callable as op(T, T) and as "
                    "op(T, map(element)), T being the type of init, and its result must convert to T");
      return op_fits;
    } else {
      return false;
    }
  }

  template<class R, class T, class Op, class Map>
  static T run(pool* p, R& range, T init, Op& op, Map& map) {
    if constexpr (!fit<R, T, Op, Map>()) {
      return init;
    } else if constexpr (splittable<R&>) {
      auto const n = static_cast<std::uint64_t>(std::ranges::size(range));
      if (n == 0) return init;
      auto const first = std::ranges::begin(range);
      auto const work = [&](thread_context& me) -> T {
        reduction<std::remove_const_t<decltype(first)>, T, Op, Map> body(me, first, op, map);
        run_loop(me, body, n);
        return body.fold(std::move(init));
      };
      thread_context& me = *current;
      if (me.core != nullptr && p == nullptr) return work(me);
      return on_pool(p, work);
    } else {
      auto const work = [&](thread_context& me) -> T {
        stop_around const stop(me);
        for (auto&& x : range) {
          if (stop.stopped()) throw cancelled();
          init = static_cast<T>(
              std::invoke(op, std::move(init), std::invoke(map, std::forward<decltype(x)>(x))));
        }
        return std::move(init);
      };
      return p == nullptr ? work(*current) : on_pool(p, work);
    }
  }

  template<class R, class T, class Op, class Map>
  static T run_tree(pool* p, R& range, T init, Op& op, Map& map) {
    if constexpr (!fit<R, T, Op, Map>()) {
      return init;
    } else {
      auto const n = static_cast<std::uint64_t>(std::ranges::size(range));
      if (n == 0) return init;
      auto const first = std::ranges::begin(range);
      auto const work = [&](thread_context& me) -> T {
        loop_root root(me);
        token_in_force const token(me.chain, &root.stop());
        reduction_tree<std::remove_const_t<decltype(first)>, T, Op, Map> const tree{first, op, map,
                                                                                    leaf_of(n), &root};
        try {
          return tree(0, n);
        } catch (...) {
          root.throw_first(); // not the exception of a branch that was only stopped
          throw;
        }
      };
      thread_context& me = *current;
      T sum = me.core != nullptr && p == nullptr ? work(me) : on_pool(p, work);
      return static_cast<T>(std::invoke(op, std::move(init), std::move(sum)));
    }
  }
};

} // namespace detail

inline constexpr detail::for_index_fn for_index{};
inline constexpr detail::for_range_fn for_range{};
inline constexpr detail::for_each_fn for_each{};
inline constexpr detail::reduce_fn reduce{};

} // namespace rubato
