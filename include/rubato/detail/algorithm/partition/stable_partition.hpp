// The stable partition: the first group closes its gaps, and the second one waits in memory meanwhile.
#pragma once

#include "rubato/detail/algorithm/order/key_order.hpp"
#include "rubato/detail/algorithm/order/merge_in_place.hpp"
#include "rubato/detail/algorithm/order/raw_memory.hpp"
#include "rubato/detail/algorithm/partition/close_gaps.hpp"
#include "rubato/detail/algorithm/search/predicates.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace rubato::detail {

/// The stable partition without memory: halves, and a rotation for each. Returns where the second group
/// begins. Forward iterators; calls the predicate once for each element.
template<class I, class Pred>
I stable_partition_in_place(I first, std::iter_difference_t<I> n, Pred const& pred) {
  if (n == 0) return first;
  if (n == 1) return pred(*first) ? std::ranges::next(first) : first;
  I const middle = std::ranges::next(first, n / 2);
  I const left = detail::stable_partition_in_place(first, n / 2, pred);
  I const right = detail::stable_partition_in_place(middle, n - n / 2, pred);
  return detail::rotate_safely(left, middle, right);
}

/// Returns the first element for which the predicate does not hold.
template<class I, class Pred, class Proj>
I stable_partition_range(pool* p, I begin, I end, Pred const& pred, Proj const& proj) {
  test_of const test(pred, proj);
  if constexpr (bit_iterator<I>) {
    return std::partition(begin, end, test); // equal bits are alike
  } else if constexpr (!std::random_access_iterator<I>) {
    return detail::stable_partition_in_place(begin, std::ranges::distance(begin, end), test);
  } else {
    auto const n = static_cast<std::size_t>(end - begin);
    if (n == 0) return begin;
    raw_memory<std::iter_value_t<I>> const memory(n);
    if (memory.get() == nullptr) return detail::stable_partition_in_place(begin, end - begin, test);
    keep_where<true, decltype(test)> const keep{test};
    return begin + static_cast<std::iter_difference_t<I>>(
                       detail::keep_elements<true>(p, begin, n, memory.get(), keep));
  }
}

} // namespace rubato::detail
