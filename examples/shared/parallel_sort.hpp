// A merge sort that forks at every step.
#pragma once

#include <rubato/join.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace example {

namespace detail {

inline constexpr std::size_t small =
    1024; // below it the algorithms of the standard library are faster than more forks

/// Merges two sorted ranges. The middle of the longer one splits the other; then both halves merge by
/// themselves.
template<class T, class Less>
void merge_into(std::span<T> a, std::span<T> b, std::span<T> out, const Less& less) {
  if (out.size() <= small) {
    std::ranges::merge(a, b, out.begin(), less);
    return;
  }
  if (a.size() < b.size()) std::swap(a, b);
  const auto middle = a.size() / 2;
  const auto below = static_cast<std::size_t>(std::ranges::lower_bound(b, a[middle], less) - b.begin());
  rubato::join([&] { merge_into(a.first(middle), b.first(below), out.first(middle + below), less); },
               [&] { merge_into(a.subspan(middle), b.subspan(below), out.subspan(middle + below), less); });
}

/// Sorts `items` where they are or, if `into_other`, to `other`, which is as long.
template<class T, class Less>
void sort_into(std::span<T> items, std::span<T> other, bool into_other, const Less& less) {
  if (items.size() <= small) {
    std::ranges::sort(items, less);
    if (into_other) std::ranges::copy(items, other.begin());
    return;
  }
  const auto middle = items.size() / 2;
  rubato::join([&] { sort_into(items.first(middle), other.first(middle), !into_other, less); },
               [&] { sort_into(items.subspan(middle), other.subspan(middle), !into_other, less); });
  const auto from = into_other ? items : other;
  merge_into(from.first(middle), from.subspan(middle), into_other ? other : items, less);
}

} // namespace detail

/// Merge sort with a parallel merge (Cormen, Leiserson, Rivest, Stein: Introduction to Algorithms, 3rd
/// ed., 27.3). Not stable. T must be default-constructible: a second range of the same length is needed.
template<class T, class Less>
void parallel_sort(std::vector<T>& items, const Less& less) {
  std::vector<T> other(items.size());
  detail::sort_into(std::span(items), std::span(other), false, less);
}

} // namespace example
