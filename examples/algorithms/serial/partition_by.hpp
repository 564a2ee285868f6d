// What one thread does in a quicksort: it splits a range at a pivot.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace algorithms {

/// Moves the items for which `is_low` holds to the front and returns their number. No branch depends on an
/// item, because a core guesses half of such branches wrong. Source: Lomuto's partition (J. Bentley,
/// Programming Pearls) without its branch.
template<class T, class Low>
std::size_t partition_by(std::span<T> items, const Low& is_low) {
  std::size_t low = 0;
  for (T& item : items) {
    T x = std::move(item);
    item = std::move(items[low]);
    const bool goes_low = is_low(x);
    items[low] = std::move(x);
    low += goes_low;
  }
  return low;
}

template<class T, class Less>
const T& median(const T& a, const T& b, const T& c, const Less& less) {
  if (less(a, b)) return less(b, c) ? b : less(a, c) ? c : a;
  return less(a, c) ? a : less(b, c) ? c : b;
}

/// One of the items, near their median: the median of three medians of three (J. Tukey's ninther).
template<class T, class Less>
T choose_pivot(std::span<const T> items, const Less& less) {
  const std::size_t step = items.size() / 9;
  const auto of_three = [&](std::size_t i) -> const T& {
    return median(items[i * step], items[(i + 1) * step], items[(i + 2) * step], less);
  };
  return median(of_three(0), of_three(3), of_three(6), less);
}

} // namespace algorithms
