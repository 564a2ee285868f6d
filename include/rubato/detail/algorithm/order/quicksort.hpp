// Sorting in place on one thread.
//
// The structure is that of pattern-defeating quicksort (O. Peters, 2021) and of ipnsort (L. Bergdoll and
// O. Peters, 2024): a pivot by medians of medians, a branch-free partition for elements that are cheap to
// copy, a partition of its own for a pivot that is equal to the element before the range, and heapsort after
// too many levels. docs/design/algorithms.md
#pragma once

#include "rubato/detail/algorithm/order/element_moves.hpp"
#include "rubato/detail/algorithm/order/key_order.hpp"
#include "rubato/detail/algorithm/order/runs.hpp"
#include "rubato/detail/algorithm/order/small_sort.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

namespace rubato::detail {

/// Heapsort by swaps alone, so all elements are in the range whenever the comparator is called.
template<class I, class Less>
[[gnu::noinline]] void heap_sort(I first, std::iter_difference_t<I> n, Less less) {
  auto const sift_down = [first, less](std::iter_difference_t<I> node, std::iter_difference_t<I> size) {
    for (;;) {
      std::iter_difference_t<I> child = 2 * node + 1;
      if (child >= size) return;
      if (child + 1 < size && less(first[child], first[child + 1])) ++child;
      if (!less(first[node], first[child])) return;
      detail::swap_elements(first + node, first + child);
      node = child;
    }
  };
  for (std::iter_difference_t<I> i = n / 2; i-- > 0;) sift_down(i, n);
  while (n > 1) {
    --n;
    detail::swap_elements(first, first + n);
    sift_down(0, n);
  }
}

template<class I, class Less>
[[nodiscard]] I median_of_three(I a, I b, I c, Less less) {
  bool const a_below_b = less(*a, *b);
  if (a_below_b != less(*a, *c)) return a; // between the two
  return less(*b, *c) == a_below_b ? b : c;
}

/// A median of about n^0.53 samples, whose places depend on n alone: the median of three medians of each
/// part.
template<class I, class Less>
[[nodiscard]] I pseudo_median(I a, I b, I c, std::iter_difference_t<I> n, Less less) {
  if (n >= 8) {
    auto const step = n / 8;
    a = detail::pseudo_median(a, a + 4 * step, a + 7 * step, step, less);
    b = detail::pseudo_median(b, b + 4 * step, b + 7 * step, step, less);
    c = detail::pseudo_median(c, c + 4 * step, c + 7 * step, step, less);
  }
  return detail::median_of_three(a, b, c, less);
}

/// Brings a pivot to the front of n >= 8 elements.
template<class I, class Less>
void bring_pivot_to_front(I first, std::iter_difference_t<I> n, Less less) {
  auto const step = n / 8;
  I const a = first, b = first + 4 * step, c = first + 7 * step;
  I const pivot =
      n < 64 ? detail::median_of_three(a, b, c, less) : detail::pseudo_median(a, b, c, step, less);
  if (pivot != first) detail::swap_elements(first, pivot);
}

/// Brings the elements for which `in_front` holds before the others, and returns their number.
///
/// Elements that are cheap to copy: N. Lomuto's partition without branches. One element is held outside, so
/// each step fills a hole by two copies instead of a swap (O. Peters and L. Bergdoll, 2024). Others:
/// C. A. R. Hoare's, which moves the fewest.
template<class I, class Predicate>
[[nodiscard]] std::iter_difference_t<I> partition_elements(I first, std::iter_difference_t<I> n,
                                                           Predicate in_front) {
  if constexpr (are_cheap_to_copy<I>) {
    if (n == 0) return 0;
    held_element<I> held(first);
    I left = first;
    auto const step = [&](I right) __attribute__((always_inline)) {
      bool const goes_left = in_front(*right);
      *held.hole = *left;
      *left = *right;
      held.hole = right;
      left += goes_left;
    };
    I right = first + 1;
    I const last = first + n;
    for (; last - right >= 2; right += 2) {
      step(right);
      step(right + 1);
    }
    if (right != last) step(right);
    bool const goes_left = in_front(held.value);
    *held.hole = *left;
    held.hole = left;
    left += goes_left;
    return left - first;
  } else {
    std::iter_difference_t<I> left = 0, right = n;
    for (;;) {
      while (left != right && in_front(first[left])) ++left;
      while (left != right && !in_front(first[right - 1])) --right;
      if (left == right || left == --right) return left; // one alone is left if in_front contradicts itself
      detail::swap_elements(first + left, first + right);
      ++left;
    }
  }
}

/// As `partition_elements`, of the elements behind the pivot, which is the first one. Then the pivot takes
/// its place. Returns that.
template<class I, class InFront>
[[nodiscard]] std::iter_difference_t<I> partition_around_first(I first, std::iter_difference_t<I> n,
                                                               InFront in_front) {
  std::iter_difference_t<I> place = 0;
  if constexpr (are_cheap_to_copy<I>) {
    std::iter_value_t<I> pivot = *first;
    place = detail::partition_elements(first + 1, n - 1,
                                       [in_front, pivot](auto& x) mutable { return in_front(x, pivot); });
  } else {
    place = detail::partition_elements(
        first + 1, n - 1, [&](auto&& x) { return in_front(std::forward<decltype(x)>(x), *first); });
  }
  if (place != 0) detail::swap_elements(first, first + place);
  return place;
}

/// How many levels may come before heapsort.
[[nodiscard]] constexpr int most_levels(std::uint64_t n) noexcept {
  return 2 * static_cast<int>(std::bit_width(n));
}

/// What is left to sort.
template<class I>
struct sort_piece {
  I first;
  std::iter_difference_t<I> n;
  int levels;
  /// The element before the range is none of its greater ones: a pivot that took its place.
  bool has_lower_bound = false;

  /// The piece behind the element at `place`.
  [[nodiscard]] sort_piece behind(std::iter_difference_t<I> place, bool bounded) const {
    return {first + (place + 1), static_cast<std::iter_difference_t<I>>(n - place - 1), levels, bounded};
  }
  [[nodiscard]] sort_piece before(std::iter_difference_t<I> place) const {
    return {first, place, levels, has_lower_bound};
  }
  /// The first element is the pivot: no other one is less, if one before the range is as great.
  template<class Less>
  [[nodiscard]] bool starts_with_least(Less less) const {
    return has_lower_bound && !less(*std::ranges::prev(first), *first);
  }
};

template<class I, class Less>
void quicksort(sort_piece<I> piece, Less less) {
  while (piece.n > most_for_small_sort<I>) {
    if (piece.levels == 0) return detail::heap_sort(piece.first, piece.n, less);
    --piece.levels;
    detail::bring_pivot_to_front(piece.first, piece.n, less);
    if (piece.starts_with_least(less)) {
      auto const place = detail::partition_around_first(
          piece.first, piece.n, [less](auto&& x, auto&& pivot) { return !less(pivot, x); });
      piece = piece.behind(place, false);
    } else {
      auto const place = detail::partition_around_first(piece.first, piece.n, less);
      detail::quicksort(piece.before(place), less);
      piece = piece.behind(place, true);
    }
  }
  detail::small_sort(piece.first, piece.n, less);
}

template<class I, class Less>
void serial_sort(I first, std::iter_difference_t<I> n, Less less) {
  if (n < 2) return;
  if (n > most_for_small_sort<I>) {
    run const direction = detail::direction_of_run(first, n, less);
    if (detail::is_run(first, n, direction, less)) {
      if (direction == run::descending) detail::reverse_elements(first, n);
      return;
    }
  }
  detail::quicksort(sort_piece<I>{first, n, detail::most_levels(static_cast<std::uint64_t>(n))}, less);
}

} // namespace rubato::detail
