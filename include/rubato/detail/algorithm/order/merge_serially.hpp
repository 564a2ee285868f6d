// Merges of two sorted runs by one thread, and where two runs are cut so that their parts can be merged
// apart.
#pragma once

#include "rubato/detail/algorithm/order/either.hpp"
#include "rubato/detail/algorithm/order/element_moves.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace rubato::detail {

/// Of the first k elements of the stable merge of two runs, so many come from the left one; n and m elements
/// long. `before(j, i)`: the right run's element j goes before the left one's element i. Source: Odeh et al.,
/// Merge Path (IPDPS workshops 2012); Siebert and Träff (2014). Whatever `before` says, the result is between
/// k - m and n.
template<class Before>
[[nodiscard]] std::size_t cut_of_merge(std::size_t n, std::size_t m, std::size_t k, Before&& before) {
  std::size_t lo = k > m ? k - m : 0;
  std::size_t hi = std::min(k, n);
  while (lo != hi) {
    std::size_t const middle = lo + (hi - lo) / 2;
    if (before(k - middle - 1, middle))
      hi = middle;
    else
      lo = middle + 1;
  }
  return lo;
}

/// Merges [l, le) and [r, re) to `out`, which is apart from both. Plain data: the runs stay as they are, also
/// if less throws.
///
/// The front of the output and its back are filled at the same time, without a branch: two chains of
/// comparisons that do not depend on one another. In one round each end takes half as many elements as the
/// shorter run has, so neither looks behind the end of a run and no element is taken twice, whatever less
/// says. Source: the parity merge of quadsort (I. van den Hoven, 2020), as in driftsort (O. Peters and
/// L. Bergdoll, 2024).
template<class L, class R, class T, class Less>
void merge_plain(L* l, L* le, R* r, R* re, T* out, Less const& less) {
  T* back = out + (le - l) + (re - r);
  for (;;) {
    std::ptrdiff_t k = std::min(le - l, re - r) / 2;
    if (k < 4) break;
    for (; k != 0; --k) {
      bool const right = less(*r, *l);
      *out++ = *detail::either(l, r, right);
      r += right;
      l += !right;
      bool const left = less(*(re - 1), *(le - 1));
      *--back = *(detail::either(re, le, left) - 1);
      le -= left;
      re -= !left;
    }
  }
  while (l != le && r != re) {
    bool const right = less(*r, *l);
    *out++ = *detail::either(l, r, right);
    r += right;
    l += !right;
  }
  std::copy(r, re, std::copy(l, le, out));
}

/// Merges two runs of H elements each, which lie side by side. False: less is no order, and what `out` holds
/// is unspecified.
template<std::size_t H, class T, class Less>
[[nodiscard]] [[gnu::always_inline]] inline bool merge_equal(T* from, T* out, Less const& less) {
  T *l = from, *r = from + H, *le = r, *re = r + H;
  T* back = out + 2 * H;
  for (std::size_t i = 0; i != H; ++i) {
    bool const right = less(*r, *l);
    *out++ = *detail::either(l, r, right);
    r += right;
    l += !right;
    bool const left = less(*(re - 1), *(le - 1));
    *--back = *(detail::either(re, le, left) - 1);
    le -= left;
    re -= !left;
  }
  return l == le && r == re;
}

} // namespace rubato::detail
