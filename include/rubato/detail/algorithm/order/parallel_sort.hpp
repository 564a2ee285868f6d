// Sorting in place on several threads: quicksort as a tree of joins. docs/design/algorithms.md
#pragma once

#include "rubato/detail/algorithm/fork_tree.hpp"
#include "rubato/detail/algorithm/order/element_moves.hpp"
#include "rubato/detail/algorithm/order/quicksort.hpp"
#include "rubato/detail/algorithm/partition/parallel_partition.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

namespace rubato::detail {

template<class I, class Less>
class sort_tree {
  using difference = std::iter_difference_t<I>;
  /// One thread sorts so many elements: some 20 us for integers.
  static constexpr difference leaf = 1'024;
  /// Near the top, where another worker may have nothing to do yet, the partition itself is parallel.
  static constexpr std::ptrdiff_t least_for_blocks = 1 << 16;

  fork_tree tree_;
  Less less_;
  difference n_;

  template<class InFront>
  [[nodiscard]] difference partition_piece(context& c, sort_piece<I> const& piece,
                                           InFront const& in_front) const {
    if (piece.n < least_for_blocks || piece.n < n_ / 8)
      return tree_.attempt([&] { return detail::partition_around_first(piece.first, piece.n, in_front); });
    I const rest = piece.first + 1;
    auto const place = [&] {
      if constexpr (are_cheap_to_copy<I>) {
        std::iter_value_t<I> pivot = *piece.first;
        return detail::partition_blocks(tree_, c, rest, piece.n - 1,
                                        [in_front, pivot](auto& x) mutable { return in_front(x, pivot); });
      } else {
        return detail::partition_blocks(tree_, c, rest, piece.n - 1, [&in_front, &piece](auto&& x) {
          return in_front(std::forward<decltype(x)>(x), *piece.first);
        });
      }
    }();
    if (place != 0) tree_.attempt([&] { detail::swap_elements(piece.first, piece.first + place); });
    return place;
  }

public:
  sort_tree(fork_tree tree, Less less, difference n) noexcept
      : tree_(tree)
      , less_(less)
      , n_(n) {}

  void operator()(context& c, sort_piece<I> piece) const {
    while (piece.n > leaf) {
      tree_.throw_if_stopped();
      if (piece.levels == 0) break; // heapsort
      --piece.levels;
      bool const takes_least = tree_.attempt([&] {
        detail::bring_pivot_to_front(piece.first, piece.n, less_);
        return piece.starts_with_least(less_);
      });
      if (takes_least) {
        auto const place =
            partition_piece(c, piece, [less = less_](auto&& x, auto&& pivot) { return !less(pivot, x); });
        piece = piece.behind(place, false);
        continue;
      }
      auto const place = partition_piece(c, piece, less_);
      return tree_.fork(
          c, [&](context& mine) { (*this)(mine, piece.before(place)); },
          [&](context& its) { (*this)(its, piece.behind(place, true)); });
    }
    tree_.attempt([&] { detail::quicksort(piece, less_); });
  }
};

template<class I, class Less>
void quicksort_in_parallel(fork_tree const& tree, context& c, I first, std::iter_difference_t<I> n,
                           Less less) {
  sort_tree<I, Less>(tree, less, n)(c, {first, n, detail::most_levels(static_cast<std::uint64_t>(n))});
}

} // namespace rubato::detail
