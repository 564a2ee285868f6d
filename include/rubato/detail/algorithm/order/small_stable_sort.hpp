// Stable sorts of a few elements.
#pragma once

#include "rubato/detail/algorithm/order/either.hpp"
#include "rubato/detail/algorithm/order/element_moves.hpp"
#include "rubato/detail/algorithm/order/merge_serially.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace rubato::detail {

/// Sorts [first, last), whose first `sorted` elements are a run. Stable; each element is there once also if
/// less or a move throws.
template<class I, class Less>
void stable_insertion_sort(I first, I last, Less const& less, std::iter_difference_t<I> sorted = 1) {
  if (last - first <= sorted) return;
  for (I next = first + sorted; next != last; ++next) {
    if (!less(*next, *(next - 1))) continue;
    lifted<I> one(next);
    do one.fill_from(one.place() - 1);
    while (one.place() != first && less(one.value(), *(one.place() - 1)));
    one.put_back();
  }
}

/// Copies four elements to `out` in order, which may be where they are: five comparisons, no branch.
template<class T, class Less>
[[gnu::always_inline]] inline void sort_four(T* v, T* out, Less const& less) {
  bool const first = less(v[1], v[0]), second = less(v[3], v[2]);
  T *a = v + first, *b = v + !first;           // a <= b
  T *c = v + 2 + second, *d = v + 2 + !second; // c <= d
  bool const low = less(*c, *a), high = less(*d, *b);
  T* const least = detail::either(a, c, low);
  T* const greatest = detail::either(d, b, high);
  T* const left = detail::either(detail::either(b, c, high), a,
                                 low); // of the two others, in the order in which they stood
  T* const right = detail::either(detail::either(c, b, low), d, high);
  bool const swapped = less(*right, *left);
  T const x = *least, y = *detail::either(left, right, swapped), z = *detail::either(right, left, swapped),
          w = *greatest;
  out[0] = x;
  out[1] = y;
  out[2] = z;
  out[3] = w;
}

inline constexpr std::size_t small_block = 32;

/// Merges the runs of H elements in a block of 32, which becomes runs of 2 * H in the other place.
template<std::size_t H, class T, class Less>
[[gnu::always_inline]] inline void merge_runs_of(T* from, T* to, Less const& less) {
  for (std::size_t i = 0; i != small_block; i += 2 * H)
    if (!detail::merge_equal<H>(from + i, to + i, less)) [[unlikely]]
      std::copy_n(from + i, 2 * H, to + i);
}

/// Sorts 32 elements of plain data at `from`; they come to `other` if `to_other`, and the place where they do
/// not come to holds copies. If less throws, they all are at `from`.
template<bool ToOther, class T, class Less>
void sort_block(T* from, T* other, Less const& less) {
  T* const to = ToOther ? from : other; // where three merges end at the other one
  T* const back = ToOther ? other : from;
  T* whole = from; // holds all elements
  try {
    for (std::size_t i = 0; i != small_block; i += 4) detail::sort_four(from + i, to + i, less);
    whole = to;
    detail::merge_runs_of<4>(to, back, less);
    whole = back;
    detail::merge_runs_of<8>(back, to, less);
    whole = to;
    detail::merge_runs_of<16>(to, back, less);
  } catch (...) {
    if (whole != from) std::copy_n(whole, small_block, from);
    throw;
  }
}

} // namespace rubato::detail
