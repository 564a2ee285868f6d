// What one thread does in a merge sort: it merges two sorted ranges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace algorithms {

/// Merges `a` and `b` into `out`; of equal items those of `a` come first.
///
/// It merges from both ends at once and without a branch that depends on the items: a core guesses half of
/// such branches wrong, and overlaps the two chains of comparisons, which know nothing of each other. Source:
/// the merge of Rust's stable sort (L. Bergdoll and O. Peters, driftsort).
template<class T, class Less>
void merge_runs(std::span<const T> a, std::span<const T> b, std::span<T> out, const Less& less) {
  const T *a_first = a.data(), *a_last = a_first + a.size();
  const T *b_first = b.data(), *b_last = b_first + b.size();
  T *first = out.data(), *last = first + out.size();
  for (;;) {
    // So many steps from each end exhaust neither range.
    std::ptrdiff_t steps = std::min(a_last - a_first, b_last - b_first) / 2;
    if (steps < 2) break;
    for (; steps != 0; --steps) {
      const bool from_b = less(*b_first, *a_first);
      *first++ = from_b ? *b_first : *a_first;
      b_first += from_b;
      a_first += !from_b;
      const bool from_a = less(b_last[-1], a_last[-1]);
      *--last = from_a ? a_last[-1] : b_last[-1];
      a_last -= from_a;
      b_last -= !from_a;
    }
  }
  std::merge(a_first, a_last, b_first, b_last, first, less);
}

} // namespace algorithms
