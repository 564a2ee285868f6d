// Merge sort: both halves are sorted at the same time, and both halves of a merge merge at the same time.
#pragma once

#include "serial/insertion_sort.hpp"
#include "serial/merge_runs.hpp"

#include <rubato/join.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace algorithms {

namespace detail {

/// A smaller piece is not worth a fork, which costs some ten nanoseconds.
inline constexpr std::size_t worth_a_fork = 1024;

/// The middle of the longer range splits the other; then both halves merge by themselves. The pieces depend
/// on the items alone, and equal items keep their order.
template<class T, class Less>
void merge_in_halves(std::span<const T> a, std::span<const T> b, std::span<T> out, const Less& less) {
  if (out.size() <= 4 * worth_a_fork) return merge_runs(a, b, out, less);
  std::size_t from_a, from_b; // for the first half
  if (a.size() >= b.size()) {
    from_a = a.size() / 2;
    from_b = static_cast<std::size_t>(std::ranges::lower_bound(b, a[from_a], less) - b.begin());
  } else {
    from_b = b.size() / 2;
    from_a = static_cast<std::size_t>(std::ranges::upper_bound(a, b[from_b], less) - a.begin());
  }
  const std::size_t middle = from_a + from_b;
  rubato::join([&] { merge_in_halves(a.first(from_a), b.first(from_b), out.first(middle), less); },
               [&] { merge_in_halves(a.subspan(from_a), b.subspan(from_b), out.subspan(middle), less); });
}

/// Sorts `items` where they are or, if `into_other`, to `other`, which is as long.
template<class T, class Less>
void sort_into(std::span<T> items, std::span<T> other, bool into_other, const Less& less) {
  if (items.size() <= few) {
    insertion_sort(items, less);
    if (into_other) std::ranges::copy(items, other.begin());
    return;
  }
  const std::size_t middle = items.size() / 2;
  const auto first = [&] { sort_into(items.first(middle), other.first(middle), !into_other, less); };
  const auto second = [&] { sort_into(items.subspan(middle), other.subspan(middle), !into_other, less); };
  if (items.size() <= worth_a_fork) {
    first();
    second();
  } else {
    rubato::join(first, second);
  }
  const std::span<const T> from = into_other ? items : other;
  merge_in_halves(from.first(middle), from.subspan(middle), into_other ? other : items, less);
}

} // namespace detail

/// Sorts the items; equal items keep their order. T must be default-constructible and cheap to copy: a second
/// range of the same length is needed. Source of the parallel merge: Cormen, Leiserson, Rivest, Stein:
/// Introduction to Algorithms, 3rd ed., 27.3. (rubato::stable_sort() is faster and has none of these limits.)
template<class T, class Less = std::less<>>
void mergesort(std::span<T> items, const Less& less = {}) {
  std::vector<T> other(items.size());
  detail::sort_into(items, std::span(other), false, less);
}

} // namespace algorithms
