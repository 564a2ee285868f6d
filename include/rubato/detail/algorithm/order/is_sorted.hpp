// Is a range sorted? In blocks, side by side.
#pragma once

#include "rubato/detail/algorithm/blocks.hpp"
#include "rubato/detail/algorithm/order/key_order.hpp"
#include "rubato/detail/algorithm/order/runs.hpp"
#include "rubato/detail/base/atomics.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace rubato::detail {

/// Elements that is_sorted() can compare, on several threads at once.
template<class I, class Comp, class Proj>
concept comparable_by = std::indirect_strict_weak_order<Comp const, std::projected<I, Proj const>>;

template<class I, class Less>
[[nodiscard]] bool are_sorted_in_blocks(pool* p, I first, std::iter_difference_t<I> n, Less less) {
  using difference = std::iter_difference_t<I>;
  constexpr std::uint64_t block = 1'024;
  relaxed<bool> broken;
  detail::for_blocks(p, static_cast<std::uint64_t>(n - 1), block, [&](std::uint64_t lo, std::uint64_t hi) {
    for (; lo < hi && !broken.get(); lo += block) {
      auto const pairs = static_cast<difference>(std::min(block, hi - lo));
      if (!detail::is_run(first + static_cast<difference>(lo), pairs + 1, run::ascending, less))
        broken.set(true);
    }
  });
  return !broken.get();
}

template<class I, class S, class Comp, class Proj>
[[nodiscard]] bool are_sorted(pool* p, I first, S last, Comp const& comp, Proj const& proj) {
  constexpr std::ptrdiff_t serial_below = 4'096;
  if constexpr (std::random_access_iterator<I> && std::sized_sentinel_for<S, I>) {
    auto const n = last - first;
    key_order const less(comp, proj);
    auto const from = detail::bare_iterator(first);
    return n < serial_below ? detail::is_run(from, n, run::ascending, less)
                            : detail::are_sorted_in_blocks(p, from, n, less);
  } else {
    return std::ranges::is_sorted(std::move(first), std::move(last), comp, proj);
  }
}

} // namespace rubato::detail
