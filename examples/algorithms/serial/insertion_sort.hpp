// What one thread does with a few numbers that are to be sorted.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace algorithms {

/// So few that no other sort is faster.
inline constexpr std::size_t few = 20;

template<class T, class Less>
void insertion_sort(std::span<T> items, const Less& less) {
  for (std::size_t i = 1; i < items.size(); ++i) {
    T x = std::move(items[i]);
    std::size_t hole = i;
    for (; hole != 0 && less(x, items[hole - 1]); --hole) items[hole] = std::move(items[hole - 1]);
    items[hole] = std::move(x);
  }
}

} // namespace algorithms
