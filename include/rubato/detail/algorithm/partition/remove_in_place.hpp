// remove_if and unique.
#pragma once

#include "rubato/detail/algorithm/order/key_order.hpp"
#include "rubato/detail/algorithm/partition/close_gaps.hpp"
#include "rubato/detail/algorithm/search/predicates.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <ranges>

namespace rubato::detail {

/// Elements of which neighbours can be compared, and that can be moved about.
template<class I, class Comp, class Proj>
concept neighbours_by = (std::permutable<I> || bit_iterator<I>) &&
                        std::indirect_equivalence_relation<Comp const, std::projected<I, Proj const>>;

/// Returns what is to be erased.
template<class I, class S, class Pred, class Proj>
std::ranges::subrange<I> remove_elements(pool* p, I first, S last, Pred const& pred, Proj const& proj) {
  test_of const test(pred, proj);
  I const end = std::ranges::next(first, last);
  if constexpr (bit_iterator<I>) {
    return {std::remove_if(first, end, test), end};
  } else if constexpr (std::random_access_iterator<I>) {
    keep_where<false, decltype(test)> const keep{test};
    auto const kept =
        detail::keep_elements<false>(p, first, static_cast<std::uint64_t>(end - first), nullptr, keep);
    return {first + static_cast<std::iter_difference_t<I>>(kept), end};
  } else {
    return std::ranges::remove_if(first, end, test);
  }
}
template<class I, class S, class Comp, class Proj>
std::ranges::subrange<I> unique_elements(pool* p, I first, S last, Comp const& comp, Proj const& proj) {
  key_order const same(comp, proj);
  I const end = std::ranges::next(first, last);
  if constexpr (bit_iterator<I>) {
    return {std::unique(first, end, same), end};
  } else if constexpr (std::random_access_iterator<I>) {
    keep_first<decltype(same)> const keep{same};
    auto const kept =
        detail::keep_elements<false>(p, first, static_cast<std::uint64_t>(end - first), nullptr, keep);
    return {first + static_cast<std::iter_difference_t<I>>(kept), end};
  } else {
    return std::ranges::unique(first, end, same);
  }
}

} // namespace rubato::detail
