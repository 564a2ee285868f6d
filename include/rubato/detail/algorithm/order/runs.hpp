// Is a range in order already, or in reverse order? On one thread.
#pragma once

#include "rubato/detail/algorithm/order/element_moves.hpp"
#include "rubato/detail/algorithm/order/key_order.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace rubato::detail {

enum class run : unsigned char { none, ascending, descending };

/// If the elements are a run, it goes that way.
template<class I, class Less>
[[nodiscard]] run direction_of_run(I first, std::iter_difference_t<I> n, Less less) {
  return less(first[n - 1], first[0]) ? run::descending : run::ascending;
}

/// True if none of n > 0 elements `goes_wrong(element, next)`. The first ones are looked at one by one,
/// because random elements show it there; then those that are cheap to copy 32 at a time, without a branch
/// between them, so that compilers use vectors.
template<class I, class GoesWrong>
[[nodiscard]] bool is_unbroken(I first, std::iter_difference_t<I> n, GoesWrong const& goes_wrong) {
  using difference = std::iter_difference_t<I>;
  difference i = 1;
  if constexpr (are_cheap_to_copy<I>) {
    constexpr difference step = 32, alone = 16;
    for (difference const end = std::min(n, alone); i < end; ++i)
      if (goes_wrong(first[i - 1], first[i])) return false;
    for (; n - i >= step; i += step) {
      unsigned wrong = 0;
      for (difference k = i; k != i + step; ++k)
        wrong |= static_cast<unsigned>(goes_wrong(first[k - 1], first[k]));
      if (wrong != 0) return false;
    }
  }
  while (i < n && !goes_wrong(first[i - 1], first[i])) ++i;
  return i >= n;
}

/// True if no element stands on the wrong side of its neighbour. Equal ones may be reversed, too: nothing
/// here is stable.
template<class I, class Less>
[[nodiscard]] bool is_run(I first, std::iter_difference_t<I> n, run direction, Less less) {
  return direction == run::descending
             ? detail::is_unbroken(first, n, [less](auto&& x, auto&& next) { return less(x, next); })
             : detail::is_unbroken(first, n, [less](auto&& x, auto&& next) { return less(next, x); });
}

/// Swaps n elements from `front` on with the n from `back` on, in reverse order. They do not overlap: told
/// so, compilers use vectors.
template<class T>
void swap_reversed(T* __restrict front, T* __restrict back, std::ptrdiff_t n) {
  for (std::ptrdiff_t i = 0; i < n; ++i) std::swap(front[i], back[n - 1 - i]);
}

/// Swaps n elements from `front` on with those before `back`, which come in reverse order.
template<class I>
void reverse_ends(I front, I back, std::iter_difference_t<I> n) {
  if constexpr (plain_span<I>)
    detail::swap_reversed(front, back - n, n);
  else
    for (std::iter_difference_t<I> i = 0; i < n; ++i) detail::swap_elements(front + i, back - (i + 1));
}

/// The same; and true if the n > 0 elements of either end are a run that descends, unless `known_broken`.
/// From the ends inwards, as the processor fetches ahead.
template<class I, class Less>
[[nodiscard]] bool reverse_if_descending(I front, I back, std::iter_difference_t<I> n, Less less,
                                         bool known_broken) {
  constexpr std::iter_difference_t<I> step = 32;
  unsigned wrong = static_cast<unsigned>(known_broken);
  for (; n > step; n -= step, void(), front += step, void(), back -= step) {
    if (wrong == 0) {
      for (std::iter_difference_t<I> k = 0; k != step; ++k)
        wrong |= static_cast<unsigned>(less(front[k], front[k + 1]));
      for (std::iter_difference_t<I> k = 0; k != step; ++k)
        wrong |= static_cast<unsigned>(less(*(back - (k + 2)), *(back - (k + 1))));
    }
    detail::reverse_ends(front, back, step);
  }
  bool const run_of_both = wrong == 0 && detail::is_run(front, n, run::descending, less) &&
                           detail::is_run(back - n, n, run::descending, less);
  detail::reverse_ends(front, back, n);
  return run_of_both;
}

template<class I>
void reverse_elements(I first, std::iter_difference_t<I> n) {
  detail::reverse_ends(first, first + n, n / 2);
}

} // namespace rubato::detail
