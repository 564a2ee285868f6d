// Loops over the integers of an interval, in chunks.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/fork/loop.hpp"
#include "rubato/detail/fork/repeat.hpp"
#include "rubato/detail/work/callable.hpp"

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace rubato::detail {

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
  detail::on_pool(p, [&](thread_context& me) {
    chunk_body<Chunk> body(me, chunk);
    detail::run_loop(me, body, n);
  });
}

/// In chunks that begin at multiples of `least` and have as many items at least, but for the last of all.
template<class Chunk>
void for_long_chunks(pool* p, std::uint64_t n, std::uint64_t least, Chunk chunk) {
  detail::for_chunks(p, n / least + (n % least != 0),
                     [=](thread_context& me, std::uint64_t lo, std::uint64_t hi) {
                       chunk(me, lo * least, hi > n / least ? n : hi * least); // the product may overflow
                     });
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

template<class I, class J, class F>
void call_for_each_index(pool* p, I first, J last, F& f) {
  using index = std::common_type_t<I, J>;
  constexpr bool f_fits = fits<F&, index>;
  static_assert(f_fits, "rubato: for_index(first, last, f): f must be callable as f(index)");
  auto const from = bound_as<index>(first);
  if constexpr (f_fits)
    detail::for_chunks(p, distance_of(from, bound_as<index>(last)),
                       [&f, from](thread_context& me, std::uint64_t lo, std::uint64_t hi) {
                         // Counts in the index's own type: g++ vectorises no loop whose index is truncated
                         // each time.
                         index i = advance_by(from, lo);
                         detail::repeat(hi - lo, [&f, &me, &i] {
                           static_cast<void>(detail::call_and_wait(me, f, index(i)));
                           i = static_cast<index>(i + 1);
                         });
                       });
}

template<class I, class J, class F>
void call_for_chunks(pool* p, I first, J last, F& f) {
  using index = std::common_type_t<I, J>;
  constexpr bool f_fits = fits<F&, index, index>;
  static_assert(f_fits, "rubato: for_range(first, last, f): f must be callable as f(lo, hi)");
  auto const from = bound_as<index>(first);
  if constexpr (f_fits)
    detail::for_chunks(p, distance_of(from, bound_as<index>(last)),
                       [&f, from](thread_context& me, std::uint64_t lo, std::uint64_t hi) {
                         static_cast<void>(
                             detail::call_and_wait(me, f, advance_by(from, lo), advance_by(from, hi)));
                       });
}

template<class I, class J, class F>
void call_for_long_chunks(pool* p, I first, J last, std::uint64_t least, F& f) {
  using index = std::common_type_t<I, J>;
  constexpr bool f_fits = fits<F&, index, index>;
  static_assert(f_fits, "rubato: for_range(first, last, min_chunk(n), f): f must be callable as f(lo, hi)");
  auto const from = bound_as<index>(first);
  if constexpr (f_fits)
    detail::for_long_chunks(p, distance_of(from, bound_as<index>(last)), least,
                            [&f, from](thread_context& me, std::uint64_t lo, std::uint64_t hi) {
                              static_cast<void>(
                                  detail::call_and_wait(me, f, advance_by(from, lo), advance_by(from, hi)));
                            });
}

} // namespace rubato::detail
