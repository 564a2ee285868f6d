// Selection: the element at a place of the sorted order, with the smaller ones before it.
// docs/design/algorithms.md
#pragma once

#include "rubato/detail/algorithm/order/element_moves.hpp"
#include "rubato/detail/algorithm/order/key_order.hpp"
#include "rubato/detail/algorithm/order/small_stable_sort.hpp"
#include "rubato/detail/algorithm/order/sort.hpp"
#include "rubato/detail/algorithm/partition/partition.hpp"
#include "rubato/detail/fork/loop.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

namespace rubato::detail {

/// Quickselect. The pivot comes from a sample, which is selected from in turn, a little beyond the place
/// looked for: after two partitions few elements are left (R. Floyd and R. Rivest, Algorithm 489, 1975).
/// Where that has failed a few times it is a median of medians (M. Blum et al., 1973): O(n) in the worst
/// case. All places are taken from the length alone.
template<class I, class Less>
class selection {
  using difference = std::iter_difference_t<I>;
  static constexpr difference few = 24, many = 600;

  Less const& less_;
  pool* pool_;

  /// Brings a pivot to `first`: of a sample, at about the same place as `nth`, but on the far side of it.
  void sampled_pivot(I first, I nth, I last) const {
    difference const n = last - first;
    difference size = 5;
    if (n > many) {
      double const root = std::sqrt(static_cast<double>(n));
      size = std::max<difference>(15, static_cast<difference>(root) / 2);
    }
    difference const step = n / size;
    for (difference i = 1; i < size; ++i) detail::swap_elements(first + i, first + i * step);
    double const share = static_cast<double>(nth - first) / static_cast<double>(n);
    double place = share * static_cast<double>(size);
    double const gap = n > many ? std::sqrt(static_cast<double>(size)) * 1.2 : 0.0;
    place += share < 0.5 ? gap : -gap;
    difference const at =
        std::clamp(static_cast<difference>(place), difference{0}, static_cast<difference>(size - 1));
    select(first, first + at, first + size, true);
    detail::swap_elements(first, first + at);
  }

  /// Brings the median of the medians of five to `first`.
  void median_pivot(I first, I last) const {
    I medians = first;
    for (I i = first; last - i >= 5; i += 5, void(), ++medians) {
      detail::stable_insertion_sort(i, i + 5, less_);
      detail::swap_elements(medians, i + 2);
    }
    I const middle = first + (medians - first) / 2;
    select(first, middle, medians, true);
    detail::swap_elements(first, middle);
  }

public:
  selection(Less const& less, pool* p) noexcept
      : less_(less)
      , pool_(p) {}

  /// `alone`: on the calling thread.
  void select(I first, I nth, I last, bool alone) const {
    for (int failures = 0; last - first > few;) {
      difference const n = last - first;
      bool const surely = failures > 3;
      if (surely)
        median_pivot(first, last);
      else
        sampled_pivot(first, nth, last);
      auto const partition_by = [&](I from, auto const& test) {
        return detail::partition_any(pool_, alone, from, last, test);
      };
      // The elements before the pivot, which goes behind them.
      I const cut = partition_by(first + 1, [&](auto&& x) { return less_(x, *first); }) - 1;
      detail::swap_elements(first, cut);
      if (nth == cut) return;
      if (nth < cut) {
        last = cut;
      } else if (cut - first > n / 16) {
        first = cut + 1;
      } else { // perhaps many elements equal the pivot
        first = partition_by(cut + 1, [&](auto&& x) { return !less_(*cut, x); });
        if (nth < first) return;
      }
      if (last - first <= n - n / 8) continue;
      if (surely && last - first > n - n / 16) return; // with an order, a median of medians rules more out
      ++failures;
    }
    detail::stable_insertion_sort(first, last, less_);
  }
};

template<class I, class Comp, class Proj>
void nth_element_range(pool* p, I begin, I nth, I end, Comp const& comp, Proj const& proj) {
  if constexpr (bit_iterator<I>) {
    detail::sort_bits(begin, end, comp, proj);
  } else {
    if (nth == end) return;
    auto const first = detail::bare_iterator(begin);
    auto const last = first + (end - begin);
    auto const place = first + (nth - begin);
    key_order const less(comp, proj);
    using selection_type =
        selection<std::remove_const_t<decltype(first)>, std::remove_const_t<decltype(less)>>;
    selection_type(less, p).select(first, place, last, !writable_apart<I>);
  }
}

} // namespace rubato::detail
