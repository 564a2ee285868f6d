// Stable algorithms without memory, for when there is none: merges by rotation.
#pragma once

#include "rubato/detail/algorithm/fork_attempts.hpp"
#include "rubato/detail/algorithm/order/element_moves.hpp"
#include "rubato/detail/algorithm/order/small_stable_sort.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <type_traits>

namespace rubato::detail {

template<class I>
void reverse_safely(I first, I last) {
  while (first != last && first != --last) detail::swap_elements(first++, last);
}

/// Exchanges [first, middle) with [middle, last), each in its order. Returns where the second one ends. No
/// element is lost if a move throws.
template<class I>
I rotate_safely(I first, I middle, I last) {
  if constexpr (!moves_may_throw<std::iter_value_t<I>>) {
    return std::ranges::rotate(first, middle, last).begin();
  } else {
    I const end = std::ranges::next(first, std::ranges::distance(middle, last));
    detail::reverse_safely(first, middle);
    detail::reverse_safely(middle, last);
    detail::reverse_safely(first, last);
    return end;
  }
}

/// Merges the runs [first, middle) and [middle, last). Source: K. Dudzinski and A. Dydek, On a stable storage
/// merging algorithm (1981): the longer run is cut in the middle, the other one where that element belongs.
/// O(n log n), and a depth of O(log n) whatever less says.
template<class I, class Less>
void merge_in_place(fork_attempts& tree, context* c, I first, I middle, I last, Less const& less) noexcept {
  auto const n = middle - first, m = last - middle;
  if (n == 0 || m == 0 || tree.stopped()) return;
  if (n + m <= 16) {
    static_cast<void>(tree.attempt([&] { detail::stable_insertion_sort(first, last, less, n); }));
    return;
  }
  I left = first, right = middle, cut = middle;
  bool const done = tree.attempt([&] {
    if (n >= m) {
      left = first + n / 2;
      right = std::partition_point(middle, last, [&](auto&& x) { return less(x, *left); });
    } else {
      right = middle + m / 2;
      left = std::partition_point(first, middle, [&](auto&& x) { return !less(*right, x); });
    }
    cut = detail::rotate_safely(left, middle, right);
  });
  if (!done) return;
  if (n + m < 4096) c = nullptr;
  tree.fork(
      c, [&](context* mine) { detail::merge_in_place(tree, mine, first, left, cut, less); },
      [&](context* its) { detail::merge_in_place(tree, its, cut, right, last, less); });
}

/// The stable sort without memory: O(n log^2 n).
template<class I, class Less>
void sort_in_place(fork_attempts& tree, context* c, I first, I last, Less const& less) noexcept {
  auto const n = last - first;
  if (tree.stopped()) return;
  if (n <= 16) {
    static_cast<void>(tree.attempt([&] { detail::stable_insertion_sort(first, last, less); }));
    return;
  }
  if (n < 1024) c = nullptr;
  I const middle = first + n / 2;
  tree.fork(
      c, [&](context* mine) { detail::sort_in_place(tree, mine, first, middle, less); },
      [&](context* its) { detail::sort_in_place(tree, its, middle, last, less); });
  detail::merge_in_place(tree, c, first, middle, last, less);
}

} // namespace rubato::detail
