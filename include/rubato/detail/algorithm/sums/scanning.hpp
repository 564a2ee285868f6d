// What a scan writes for a piece, once the sum of all that is before it is known.
#pragma once

#include "rubato/detail/algorithm/elements.hpp"
#include "rubato/detail/algorithm/sources.hpp"
#include "rubato/detail/algorithm/sums/add_up.hpp"

#include <cstdint>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// True if out[i] for the term x is before + x; else it is before.
enum class scan_kind : bool { exclusive, inclusive };

/// Any operator: one term after the other.
template<scan_kind Kind, class T, class Source, class Out, class Op>
struct scan_in_order {
  /// A sum and a scan of one block need not give the same bits as the scan alone.
  static constexpr bool is_stable = false;

  Source const& source;
  Out out;
  Op const& op;

  [[nodiscard]] T sum(std::uint64_t lo, std::uint64_t hi) const {
    return detail::add_up<T>(source, lo, hi, op);
  }
  /// Writes the terms [lo, hi). Returns what comes before the next one. Never inline: elsewhere g++ keeps
  /// `before` in memory, where each output may be it.
  [[gnu::noinline]] T scan(std::uint64_t lo, std::uint64_t hi, T before) const {
    kept_in_loop<Op> here = op;
    auto i = source.from(lo);
    Out to = out + static_cast<std::iter_difference_t<Out>>(lo);
    for (; lo != hi; ++lo, i.next(), ++to) {
      if constexpr (Kind == scan_kind::inclusive) {
        before = detail::combined<T>(here, std::move(before), *i);
        *to = std::as_const(before);
      } else {
        T next =
            detail::combined<T>(here, std::as_const(before), *i); // read first: the output may be the input
        *to = std::move(before);
        before = std::move(next);
      }
    }
    return before;
  }
};

/// Floating-point numbers, in groups of eight: each is scanned by itself, and then the sum of all that is
/// before is combined with it. A serial scan waits three or four cycles for each addition, and this one for
/// each eighth. It calls the operator twice as often.
template<scan_kind Kind, class T, class Source, class Out, class Op>
struct scan_in_groups {
  static constexpr bool is_stable = true;
  static constexpr std::uint64_t group = 8;

  Source const& source;
  Out out;
  Op const& op;

  /// Of the same shape as what scan() combines `before` with in the end.
  [[nodiscard]] T sum(std::uint64_t lo, std::uint64_t hi) const {
    bool const whole = hi - lo >= group;
    T all = whole ? group_sum(lo, rest()) : static_cast<T>(source(lo));
    for (lo += whole ? group : 1; hi - lo >= group; lo += group)
      all = detail::combined<T>(op, all, group_sum(lo, rest()));
    for (; lo != hi; ++lo) all = detail::combined<T>(op, all, source(lo));
    return all;
  }

  T scan(std::uint64_t lo, std::uint64_t hi, T const before) const {
    bool const whole = hi - lo >= group;
    T all = whole ? write_group(lo, before, rest()) : write_one(lo, before);
    T reached = detail::combined<T>(op, before, all);
    for (lo += whole ? group : 1; hi - lo >= group; lo += group) {
      T const one = write_group(lo, reached, rest());
      reached = detail::combined<T>(op, reached, one);
      all = detail::combined<T>(op, all, one);
    }
    for (; lo != hi; ++lo) {
      T const x = write_one(lo, reached);
      reached = detail::combined<T>(op, reached, x);
      all = detail::combined<T>(op, all, x);
    }
    return detail::combined<T>(op, before, all);
  }

private:
  /// These return the sum of what they have read. They read it first: the output may be the input.
  [[gnu::always_inline]] T write_one(std::uint64_t i, T const& before) const {
    T const x = static_cast<T>(source(i));
    out[static_cast<std::iter_difference_t<Out>>(i)] =
        Kind == scan_kind::inclusive ? detail::combined<T>(op, before, x) : before;
    return x;
  }
  /// All but the first of a group. Spelt out for compilers that do not unroll loops.
  using rest = std::make_integer_sequence<std::uint64_t, group - 1>;

  template<std::uint64_t... K>
  [[gnu::always_inline]] T group_sum(std::uint64_t i,
                                     std::integer_sequence<std::uint64_t, K...> /*rest*/) const {
    T one = static_cast<T>(source(i));
    ((one = detail::combined<T>(op, one, source(i + K + 1))), ...);
    return one;
  }
  template<std::uint64_t... K>
  [[gnu::always_inline]] T write_group(std::uint64_t i, T const& before,
                                       std::integer_sequence<std::uint64_t, K...> /*rest*/) const {
    T sums[group];
    sums[0] = static_cast<T>(source(i));
    ((sums[K + 1] = detail::combined<T>(op, sums[K], source(i + K + 1))), ...);
    Out const to = out + static_cast<std::iter_difference_t<Out>>(i);
    if constexpr (Kind == scan_kind::inclusive) {
      to[0] = detail::combined<T>(op, before, sums[0]);
      ((to[K + 1] = detail::combined<T>(op, before, sums[K + 1])), ...);
    } else {
      to[0] = before;
      ((to[K + 1] = detail::combined<T>(op, before, sums[K])), ...);
    }
    return sums[group - 1];
  }
};

} // namespace rubato::detail
