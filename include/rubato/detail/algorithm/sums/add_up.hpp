// The sum of a piece by one thread: eight contiguous sub-blocks side by side, so that one operation does not
// wait for the one before. The order of the operands stays.
//
// All lengths of inner loops are constants where they can be: g++ -O2 vectorises no other loop.
#pragma once

#include "rubato/detail/algorithm/sources.hpp"

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// A value that needs no more than two registers.
template<class T>
inline constexpr bool is_small =
    std::is_trivially_copyable_v<T> && std::is_move_assignable_v<T> && sizeof(T) <= 16;

/// The sub-blocks: a processor begins two additions a cycle, and each takes three or four.
inline constexpr std::uint64_t side_by_side = 8;
/// The elements of a short sub-block and of a long one. One more than the turns of the loop, which are a
/// multiple of every number of lanes.
inline constexpr std::uint64_t short_block = 33, long_block = 257;

/// Integers wrap around: a sum of some of them may overflow where none of a serial loop does.
template<class T, class Op, class A, class B>
[[gnu::always_inline]] inline T combined(Op const& op, A&& a, B&& b) {
  if constexpr (has_lanes<Op, T> && std::is_integral_v<T> && std::is_same_v<std::remove_cvref_t<A>, T> &&
                std::is_same_v<std::remove_cvref_t<B>, T>) {
    using bits = std::common_type_t<unsigned, std::make_unsigned_t<T>>; // narrower ones would become int
    return static_cast<T>(lane_operator_t<Op, T>()(static_cast<bits>(a), static_cast<bits>(b)));
  } else {
    return static_cast<T>(std::invoke(op, std::forward<A>(a), std::forward<B>(b)));
  }
}

/// Combines eight values in order, as a tree.
template<class T, class Op>
[[gnu::always_inline]] inline T combine_eight(T (&v)[side_by_side], Op const& op) {
  for (std::uint64_t i : {0U, 2U, 4U, 6U})
    v[i] = detail::combined<T>(op, std::move(v[i]), std::move(v[i + 1]));
  for (std::uint64_t i : {0U, 4U}) v[i] = detail::combined<T>(op, std::move(v[i]), std::move(v[i + 2]));
  return detail::combined<T>(op, std::move(v[0]), std::move(v[4]));
}

template<class T, class Source, class Op>
[[gnu::always_inline]] inline T add_up_serially(Source const& at, std::uint64_t lo, std::uint64_t hi,
                                                Op const& op) {
  auto i = at.from(lo);
  T sum = static_cast<T>(*i);
  for (++lo, i.next(); lo != hi; ++lo, i.next()) sum = detail::combined<T>(op, std::move(sum), *i);
  return sum;
}

/// Less than a tile: four elements at a time, as a tree.
template<class T, class Source, class Op>
[[gnu::always_inline]] inline T add_up_in_fours(Source const& at, std::uint64_t lo, std::uint64_t hi,
                                                Op const& op) {
  T sum = static_cast<T>(at(lo));
  for (++lo; hi - lo >= 4; lo += 4)
    sum = detail::combined<T>(
        op, std::move(sum),
        detail::combined<T>(op, detail::combined<T>(op, static_cast<T>(at(lo)), static_cast<T>(at(lo + 1))),
                            detail::combined<T>(op, static_cast<T>(at(lo + 2)), static_cast<T>(at(lo + 3)))));
  for (; lo != hi; ++lo) sum = detail::combined<T>(op, std::move(sum), at(lo));
  return sum;
}

/// The sums of eight sub-blocks of `each` elements from lo on.
template<class T, class Source, class Op>
struct eight_sums {
  T sums[side_by_side];

  [[gnu::always_inline]] eight_sums(Source const& at, std::uint64_t lo, std::uint64_t each, Op const& op)
      : eight_sums(at, lo, each, op, std::make_integer_sequence<std::uint64_t, side_by_side>()) {}

private:
  template<std::uint64_t... K>
  [[gnu::always_inline]] eight_sums(Source const& at, std::uint64_t lo, std::uint64_t each, Op const& op,
                                    std::integer_sequence<std::uint64_t, K...> /*all*/)
      : sums{static_cast<T>(at(lo + K * each))...} {
    for (std::uint64_t i = 1; i != each; ++i)
      (static_cast<void>(sums[K] = detail::combined<T>(op, std::move(sums[K]), at(lo + K * each + i))), ...);
  }
};

template<class T, class Source, class Op>
[[gnu::always_inline]] inline T add_up_eight(Source const& at, std::uint64_t lo, std::uint64_t each,
                                             Op const& op) {
  eight_sums<T, Source, Op> all(at, lo, each, op);
  return detail::combine_eight(all.sums, op);
}

/// Any operator, on small values: their order stays.
template<class T, class Source, class Op>
T add_up_in_order(Source const& at, std::uint64_t lo, std::uint64_t hi, Op const& op) {
  constexpr std::uint64_t tile = side_by_side * long_block, small_tile = side_by_side * short_block;
  std::uint64_t const n = hi - lo;
  if (n < 4 * side_by_side) return detail::add_up_in_fours<T>(at, lo, hi, op);
  if (n < small_tile) {
    std::uint64_t const each = n / side_by_side;
    T sum = detail::add_up_eight<T>(at, lo, each, op);
    lo += each * side_by_side;
    return lo == hi ? sum
                    : detail::combined<T>(op, std::move(sum), detail::add_up_in_fours<T>(at, lo, hi, op));
  }
  T sum = n < tile ? detail::add_up_eight<T>(at, lo, short_block, op)
                   : detail::add_up_eight<T>(at, lo, long_block, op);
  lo += n < tile ? small_tile : tile;
  for (; hi - lo >= tile; lo += tile)
    sum = detail::combined<T>(op, std::move(sum), detail::add_up_eight<T>(at, lo, long_block, op));
  for (; hi - lo >= small_tile; lo += small_tile)
    sum = detail::combined<T>(op, std::move(sum), detail::add_up_eight<T>(at, lo, short_block, op));
  return lo == hi ? sum : detail::combined<T>(op, std::move(sum), detail::add_up_in_order<T>(at, lo, hi, op));
}

/// The sum of the numbers in whole lanes, from lo on: `vectors` of them, at least eight.
template<class T, class Source, class LaneOp, std::uint64_t... K>
[[gnu::always_inline]] inline T add_up_vectors(Source const& at, std::uint64_t lo, std::uint64_t vectors,
                                               std::integer_sequence<std::uint64_t, K...> /*eight*/) {
  constexpr std::uint64_t width = lane_count<T>;
  LaneOp const op{};
  lanes<lane_of_t<T>> sums[side_by_side] = {at.load(lo + K * width)...};
  std::uint64_t i = side_by_side;
  for (; i + side_by_side <= vectors; i += side_by_side)
    ((sums[K] = op(sums[K], at.load(lo + (i + K) * width))), ...);
  for (; i != vectors; ++i) sums[0] = op(sums[0], at.load(lo + i * width));
  auto const all =
      op(op(op(sums[0], sums[1]), op(sums[2], sums[3])), op(op(sums[4], sums[5]), op(sums[6], sums[7])));
  T sum = static_cast<T>(all[0]);
  for (std::uint64_t k = 1; k != width; ++k) sum = detail::combined<T>(op, sum, static_cast<T>(all[k]));
  return sum;
}

/// A commutative operator that the processor has: in lanes.
template<class T, class Source, class Op>
T add_up_in_lanes(Source const& at, std::uint64_t lo, std::uint64_t hi, Op const& op) {
  using lane_op = lane_operator_t<Op, T>;
  constexpr std::uint64_t width = lane_count<T>;
  std::uint64_t const vectors = (hi - lo) / width;
  if (vectors < side_by_side) return detail::add_up_in_fours<T>(at, lo, hi, op);
  T sum = detail::add_up_vectors<T, Source, lane_op>(
      at, lo, vectors, std::make_integer_sequence<std::uint64_t, side_by_side>());
  for (lo += vectors * width; lo != hi; ++lo) sum = detail::combined<T>(op, sum, at(lo));
  return sum;
}

/// The sum of the terms [lo, hi), at least one. Its shape depends only on the number of terms and the types.
template<class T, class Source, class Op>
T add_up(Source const& at, std::uint64_t lo, std::uint64_t hi, Op const& op) {
  if constexpr (has_lanes<Op, T> && Source::template lanes_of<T>)
    return detail::add_up_in_lanes<T>(at, lo, hi, op);
  else if constexpr (Source::contiguous && is_small<T>)
    return detail::add_up_in_order<T>(at, lo, hi, op);
  else
    return detail::add_up_serially<T>(at, lo, hi, op);
}

} // namespace rubato::detail
