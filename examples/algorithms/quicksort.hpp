// Quicksort: one thread splits a range at a pivot, then both parts are sorted at the same time.
#pragma once

#include "serial/insertion_sort.hpp"
#include "serial/partition_by.hpp"

#include <rubato/join.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <span>

namespace algorithms {

namespace detail {

/// `depth`: so many more bad pivots make it a heap sort (D. Musser, Introspective sorting, 1997).
template<class T, class Less>
void quicksort_to(std::span<T> items, std::size_t depth, const Less& less) {
  if (items.size() <= few) return insertion_sort(items, less);
  if (depth == 0) {
    std::ranges::make_heap(items, less);
    std::ranges::sort_heap(items, less);
    return;
  }
  const T pivot = choose_pivot(std::span<const T>(items), less);
  const std::size_t low = partition_by(items, [&](const T& x) { return less(x, pivot); });
  // No item is less than the pivot: those that equal it are in place when they are in front.
  if (low == 0) {
    const std::size_t equal = partition_by(items, [&](const T& x) { return !less(pivot, x); });
    return quicksort_to(items.subspan(equal), depth - 1, less);
  }
  const auto first = [&] { quicksort_to(items.first(low), depth - 1, less); };
  const auto second = [&] { quicksort_to(items.subspan(low), depth - 1, less); };
  if (items.size() <= 1024) { // not worth a fork
    first();
    second();
  } else {
    rubato::join(first, second);
  }
}

} // namespace detail

/// Sorts the items in place. No more than n log n comparisons but for a constant factor, whatever the items.
/// (rubato::sort() is faster: it also splits a long range with more than one thread.)
template<class T, class Less = std::less<>>
void quicksort(std::span<T> items, const Less& less = {}) {
  detail::quicksort_to(items, 2 * static_cast<std::size_t>(std::bit_width(items.size())), less);
}

} // namespace algorithms
