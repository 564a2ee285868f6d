// Sorting: which way a range takes.
#pragma once

#include "rubato/detail/work/pool_port.hpp"

#include <algorithm>
#include <iterator>

namespace rubato::detail {

/// Elements that sort() and its kin can bring into that order. Several threads call comparator and projection
/// at once, so both are called as const.
template<class I, class Comp, class Proj>
concept ordered_by = std::sortable<I, Comp const, Proj const>;

/// May a sort take memory for the elements?
enum class sort_memory : unsigned char { none, allowed };

template<sort_memory Memory, class I, class Comp, class Proj>
void sort_range(pool* /*p*/, I first, I last, Comp const& comp, Proj const& proj) {
  std::ranges::sort(first, last, comp, proj);
}

} // namespace rubato::detail
