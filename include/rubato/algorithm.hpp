// Loops and reductions. No grain has to be given: a loop is split when, and only when, somebody is idle.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/detail/assert.hpp"
#include "rubato/detail/loop.hpp"
#include "rubato/detail/pull.hpp"
#include "rubato/detail/reduction.hpp"
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

  chunk_body(member& me, Chunk& c)
      : root(me)
      , chunk(c) {}
  cell* first_cell(std::uint64_t) noexcept { return &nothing; }
  cell* next_cell(cell* c) noexcept { return c; }
  void drop_cell(cell*, cell*) noexcept {}
  void operator()(cell&, member& me, std::uint64_t lo, std::uint64_t hi) { chunk(me, lo, hi); }
};

template<class Chunk>
void for_chunks(pool* p, std::uint64_t n, Chunk chunk) {
  if (n == 0) return;
  auto const work = [&](member& me) {
    chunk_body<Chunk> body(me, chunk);
    run_loop(me, body, n);
  };
  member& me = *current;
  if (me.core != nullptr && p == nullptr)
    work(me);
  else
    on_pool(p, [&](member& guest) { work(guest); });
}

template<class I>
std::uint64_t distance_of(I first, I last) noexcept {
  return first < last ? static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) : 0;
}

template<class I>
I advance_by(I first, std::uint64_t n) noexcept {
  return static_cast<I>(static_cast<std::uint64_t>(first) + n);
}

/// Wider ones too, which are refused in words: whether they are integral depends on the compiler's dialect.
template<class T>
concept loop_bound = std::integral<T>
#if defined(__SIZEOF_INT128__)
                     || std::is_same_v<T, decltype(__int128{})> || std::is_same_v<T, decltype(__uint128_t{})>
#endif
    ;

/// A bound as the type that the bounds have in common.
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

struct for_index_fn {
  /// Calls f(i) for every i in [first, last), whose type is the bounds' common type, in any order and at the
  /// same time on every idle worker; returns when all calls have. An empty or reversed interval is none. A
  /// negative bound beside an unsigned one is an error, which assertions report; integers wider than 64 bits
  /// do not compile.
  ///
  /// f may be called by several threads at once. After the first exception nothing new is begun; it is thrown
  /// when what runs has ended. In a scope that was stopped the loop ends early and throws rubato::cancelled.
  /// The calling thread takes part and, while it waits, runs nothing but this loop. O(n) calls; a loop that
  /// nobody helps with costs a few nanoseconds more than a plain one, and one compare-exchange per chunk of
  /// up to 4,096.
  template<class I, class J, class F>
    requires loop_bound<I> && loop_bound<J>
  void operator()(I first, J last, F&& f) const {
    run(nullptr, first, last, f);
  }
  template<class I, class J, class F>
    requires loop_bound<I> && loop_bound<J>
  void operator()(pool& p, I first, J last, F&& f) const {
    run(&p, first, last, f);
  }

private:
  template<class I, class J, class F>
  static void run(pool* p, I first, J last, F& f) {
    using index = std::common_type_t<I, J>;
    constexpr bool f_fits = fits<F&, index>;
    static_assert(f_fits, "rubato: for_index(first, last, f): f must be callable as f(index)");
    auto const from = bound_as<index>(first);
    if constexpr (f_fits)
      for_chunks(p, distance_of(from, bound_as<index>(last)),
                 [&f, from](member& me, std::uint64_t lo, std::uint64_t hi) {
                   for (; lo != hi; ++lo) static_cast<void>(call_and_wait(me, f, advance_by(from, lo)));
                 });
  }
};

struct for_range_fn {
  /// Calls f(lo, hi) for pieces [lo, hi) that make up [first, last); how long they are follows from how long
  /// they take. Otherwise as for_index.
  template<class I, class J, class F>
    requires loop_bound<I> && loop_bound<J>
  void operator()(I first, J last, F&& f) const {
    run(nullptr, first, last, f);
  }
  template<class I, class J, class F>
    requires loop_bound<I> && loop_bound<J>
  void operator()(pool& p, I first, J last, F&& f) const {
    run(&p, first, last, f);
  }

private:
  template<class I, class J, class F>
  static void run(pool* p, I first, J last, F& f) {
    using index = std::common_type_t<I, J>;
    constexpr bool f_fits = fits<F&, index, index>;
    static_assert(f_fits, "rubato: for_range(first, last, f): f must be callable as f(lo, hi)");
    auto const from = bound_as<index>(first);
    if constexpr (f_fits)
      for_chunks(p, distance_of(from, bound_as<index>(last)),
                 [&f, from](member& me, std::uint64_t lo, std::uint64_t hi) {
                   static_cast<void>(call_and_wait(me, f, advance_by(from, lo), advance_by(from, hi)));
                 });
  }
};

template<class R>
concept splittable = std::ranges::random_access_range<R> && std::ranges::sized_range<R>;

struct for_each_fn {
  /// Calls f(element) for every element of the range. A random-access range of known size is split; any other
  /// is pulled in short chunks under a lock, so it may be an input range. Otherwise as for_index.
  template<std::ranges::input_range R, class F>
  void operator()(R&& range, F&& f) const {
    run(nullptr, range, f);
  }
  template<std::ranges::input_range R, class F>
  void operator()(pool& p, R&& range, F&& f) const {
    run(&p, range, f);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class F>
  void operator()(I first, S last, F&& f) const {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    run(nullptr, range, f);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class F>
  void operator()(pool& p, I first, S last, F&& f) const {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    run(&p, range, f);
  }

private:
  // What is pulled out of an input range is passed as an lvalue, if f takes that.
  template<class R, class F>
  static constexpr bool takes_lvalues = fits<F&, std::ranges::range_value_t<R&>&>;
  template<class R, class F>
  static constexpr bool f_fits =
      std::ranges::forward_range<R&> ? fits<F&, std::ranges::range_reference_t<R&>>
                                     : takes_lvalues<R, F> || fits<F&, std::ranges::range_value_t<R&>>;

  template<class R, class F>
  static void run(pool* p, R& range, F& f) {
    static_assert(f_fits<R, F>, "rubato: for_each(range, f): f must be callable as f(element)");
    if constexpr (f_fits<R, F>) run_checked(p, range, f);
  }

  template<class R, class F>
  static void run_checked(pool* p, R& range, F& f) {
    if constexpr (splittable<R&>) {
      auto const first = std::ranges::begin(range);
      using difference = std::ranges::range_difference_t<R&>;
      for_chunks(p, static_cast<std::uint64_t>(std::ranges::size(range)),
                 [&f, first](member& me, std::uint64_t lo, std::uint64_t hi) {
                   auto i = first + static_cast<difference>(lo);
                   for (; lo != hi; ++lo, ++i) static_cast<void>(call_and_wait(me, f, *i));
                 });
    } else {
      puller<R, takes_lvalues<R, F>> source(range);
      auto const pull_all = [&source, &f](member& me) {
        loop_root const stop(me); // only to know whether the scope around the loop was stopped
        source.drain([&stop] { return stop.stopped(); },
                     [&](auto&& element) {
                       static_cast<void>(call_and_wait(me, f, std::forward<decltype(element)>(element)));
                     });
      };
      member& me = *current;
      // One share per worker; who comes too late finds nothing.
      unsigned const shares = std::max(1U, size_of(*core_of(pool_or_current(p))));
      if (me.core == nullptr || p != nullptr || shares > 1)
        for_chunks(p, shares, [&](member& m, std::uint64_t lo, std::uint64_t hi) {
          for (; lo != hi; ++lo) pull_all(m);
        });
      else
        pull_all(me);
    }
  }
};

struct reduce_fn {
  /// op(... op(op(init, map(x0)), map(x1)) ...) for an associative op, in the order of the range, which need
  /// not be commutative; init is used once. map defaults to the identity. T is the type of init; T and the
  /// results of map are converted to T. As in for_index, the range is split when somebody is idle, and
  /// exceptions are thrown when all has ended. A range without random access is reduced by the calling
  /// thread alone.
  template<std::ranges::input_range R, class T, class Op, class Map = std::identity>
  T operator()(R&& range, T init, Op op, Map map = {}) const {
    return run(nullptr, range, std::move(init), op, map);
  }
  template<std::ranges::input_range R, class T, class Op, class Map = std::identity>
  T operator()(pool& p, R&& range, T init, Op op, Map map = {}) const {
    return run(&p, range, std::move(init), op, map);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class T, class Op, class Map = std::identity>
  T operator()(I first, S last, T init, Op op, Map map = {}) const {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    return run(nullptr, range, std::move(init), op, map);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class T, class Op, class Map = std::identity>
  T operator()(pool& p, I first, S last, T init, Op op, Map map = {}) const {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    return run(&p, range, std::move(init), op, map);
  }

  /// The same in the shape of a tree that depends on the length alone: for floating point the same bits with
  /// any number of workers, though not those of the serial sum.
  template<std::ranges::random_access_range R, class T, class Op, class Map = std::identity>
    requires std::ranges::sized_range<R>
  T operator()(deterministic_t, R&& range, T init, Op op, Map map = {}) const {
    return run_tree(nullptr, range, std::move(init), op, map);
  }
  template<std::ranges::random_access_range R, class T, class Op, class Map = std::identity>
    requires std::ranges::sized_range<R>
  T operator()(pool& p, deterministic_t, R&& range, T init, Op op, Map map = {}) const {
    return run_tree(&p, range, std::move(init), op, map);
  }
  template<std::random_access_iterator I, std::sized_sentinel_for<I> S, class T, class Op,
           class Map = std::identity>
  T operator()(deterministic_t, I first, S last, T init, Op op, Map map = {}) const {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    return run_tree(nullptr, range, std::move(init), op, map);
  }
  template<std::random_access_iterator I, std::sized_sentinel_for<I> S, class T, class Op,
           class Map = std::identity>
  T operator()(pool& p, deterministic_t, I first, S last, T init, Op op, Map map = {}) const {
    auto range = std::ranges::subrange(std::move(first), std::move(last));
    return run_tree(&p, range, std::move(init), op, map);
  }

private:
  /// Are op and map such as a reduction needs? Says so where they are not.
  template<class R, class T, class Op, class Map>
  [[nodiscard]] static consteval bool fit() {
    using element = std::ranges::range_reference_t<R&>;
    constexpr bool map_fits = gives<Map&, T, element>;
    static_assert(map_fits, "rubato: reduce(range, init, op, map): map must be callable as map(element), and "
                            "its result must convert to T, the type of init");
    if constexpr (map_fits) {
      // A range that is not split has but one partial result.
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
      auto const work = [&](member& me) -> T {
        reduction<std::remove_const_t<decltype(first)>, T, Op, Map> body(me, first, op, map);
        run_loop(me, body, n);
        return body.fold(std::move(init));
      };
      member& me = *current;
      if (me.core != nullptr && p == nullptr) return work(me);
      return on_pool(p, work);
    } else {
      auto const work = [&](member& me) -> T {
        loop_root const stop(me); // only to know whether the scope around it was stopped
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
      auto const work = [&](member& me) -> T {
        loop_root root(me);
        reduction_tree<std::remove_const_t<decltype(first)>, T, Op, Map> const tree{first, op, map,
                                                                                    leaf_of(n), &root};
        try {
          return tree(0, n);
        } catch (...) {
          root.throw_first(); // not that of a branch which only heard of it
          throw;
        }
      };
      member& me = *current;
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
