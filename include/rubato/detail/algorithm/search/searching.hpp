// Searches, comparisons and counts over ranges of every kind.
#pragma once

#include "rubato/detail/algorithm/elements.hpp"
#include "rubato/detail/algorithm/search/matching.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <ranges>
#include <utility>

namespace rubato::detail {

/// Several threads call predicates and projections at once, so all are called as const.
template<class I, class Pred, class Proj>
concept tested_by = std::indirect_unary_predicate<Pred const, std::projected<I, Proj const>>;
template<class I, class T, class Proj>
concept compared_with = std::indirect_binary_predicate<std::ranges::equal_to, std::projected<I, Proj const>,
                                                       std::remove_reference_t<T> const*>;
template<class I, class J, class Pred, class Proj1, class Proj2>
concept compared_by = std::indirectly_comparable<I, J, Pred const, Proj1 const, Proj2 const>;

template<class I, class S, class Pred, class Proj>
I find_element(pool* p, I first, S last, Pred const& pred, Proj const& proj) {
  if constexpr (splittable_from<I, S>) {
    return detail::moved_by(first, detail::first_place(p, detail::length_of(first, last),
                                                       element_test<I, Pred, Proj>{first, pred, proj}));
  } else {
    for (walk w; first != last; ++first) {
      w.step();
      if (std::invoke(pred, std::invoke(proj, *first))) break;
    }
    return first;
  }
}

/// True if pred is `Wanted` for an element.
template<class I, class S, class Pred, class Proj>
bool has_element(pool* p, I first, S last, Pred const& pred, Proj const& proj) {
  if constexpr (splittable_from<I, S>) {
    std::uint64_t const n = detail::length_of(first, last);
    return detail::first_place(p, n, element_test<I, Pred, Proj>{first, pred, proj}) != n;
  } else {
    return detail::find_element(p, std::move(first), last, pred, proj) != last;
  }
}

template<class I, class S, class Pred, class Proj>
std::iter_difference_t<I> count_elements(pool* p, I first, S last, Pred const& pred, Proj const& proj) {
  if constexpr (splittable_from<I, S>) {
    return static_cast<std::iter_difference_t<I>>(detail::count_places(
        p, detail::length_of(first, last), element_test<I, Pred, Proj>{first, pred, proj}));
  } else {
    std::iter_difference_t<I> sum = 0;
    for (walk w; first != last; ++first) {
      w.step();
      if (std::invoke(pred, std::invoke(proj, *first))) ++sum;
    }
    return sum;
  }
}

template<class I, class S, class J, class T, class Pred, class Proj1, class Proj2>
std::ranges::mismatch_result<I, J> mismatch_of(pool* p, I first1, S last1, J first2, T last2,
                                               Pred const& pred, Proj1 const& proj1, Proj2 const& proj2) {
  if constexpr (splittable_from<I, S> && splittable_from<J, T>) {
    std::uint64_t const at =
        detail::first_place(p, std::min(detail::length_of(first1, last1), detail::length_of(first2, last2)),
                            difference_test<I, J, Pred, Proj1, Proj2>{first1, first2, pred, proj1, proj2});
    return {detail::moved_by(first1, at), detail::moved_by(first2, at)};
  } else {
    for (walk w; first1 != last1 && first2 != last2; ++first1, ++first2) {
      w.step();
      if (!std::invoke(pred, std::invoke(proj1, *first1), std::invoke(proj2, *first2))) break;
    }
    return {std::move(first1), std::move(first2)};
  }
}

template<class I, class S, class J, class T, class Pred, class Proj1, class Proj2>
bool equal_elements(pool* p, I first1, S last1, J first2, T last2, Pred const& pred, Proj1 const& proj1,
                    Proj2 const& proj2) {
  if constexpr (std::sized_sentinel_for<S, I> && std::sized_sentinel_for<T, J>)
    if (detail::length_of(first1, last1) != detail::length_of(first2, last2)) return false;
  auto const [in1, in2] =
      detail::mismatch_of(p, std::move(first1), last1, std::move(first2), last2, pred, proj1, proj2);
  return in1 == last1 && in2 == last2;
}

/// Ranges of known lengths are not equal if the lengths differ, whatever their iterators can do.
template<class R1, class R2>
bool differ_in_length(R1& range1, R2& range2) {
  if constexpr (std::ranges::sized_range<R1&> && std::ranges::sized_range<R2&>)
    return std::cmp_not_equal(std::ranges::size(range1), std::ranges::size(range2));
  else
    return false;
}

} // namespace rubato::detail
