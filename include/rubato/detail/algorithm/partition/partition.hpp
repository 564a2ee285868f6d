// Parallel partition: pairs of pieces from both ends, then what is left on the wrong side of the cut.
// docs/design/algorithms.md
#pragma once

#include "rubato/detail/algorithm/blocks.hpp"
#include "rubato/detail/algorithm/order/element_moves.hpp"
#include "rubato/detail/algorithm/order/key_order.hpp"
#include "rubato/detail/algorithm/partition/partition_serially.hpp"
#include "rubato/detail/algorithm/pieces.hpp"
#include "rubato/detail/algorithm/search/predicates.hpp"
#include "rubato/detail/fork/chunk_size.hpp"
#include "rubato/detail/fork/loop.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace rubato::detail {

/// Partitions n elements in two loops. A piece at the left end and its counterpart at the right one are
/// partitioned together: where the elements are mixed alike, hardly any is on the wrong side afterwards. Then
/// those that are, are exchanged. The pieces depend on n alone.
template<class I, class Pred>
class mirrored_partition {
  using difference = std::iter_difference_t<I>;
  static constexpr std::size_t most_pairs = 64;

  /// Where pieces of the range are cut, from left to right; the left half of the pieces is at the left end.
  struct piece {
    std::size_t begin = 0, cut = 0, end = 0;
  };
  /// Elements on the wrong side, in up to one interval a piece.
  struct intervals {
    struct one {
      std::size_t begin = 0, before = 0; // the elements of the intervals before
    };
    std::array<one, 2 * most_pairs> all{};
    std::size_t number = 0, elements = 0;

    void add(std::size_t begin, std::size_t end) {
      if (begin >= end) return;
      all[number++] = {begin, elements};
      elements += end - begin;
    }
    /// The interval with element k of all.
    [[nodiscard]] std::size_t with(std::size_t k) const {
      auto const last = all.begin() + static_cast<std::ptrdiff_t>(number);
      auto const i = std::partition_point(all.begin(), last, [k](one const& x) { return x.before <= k; });
      return static_cast<std::size_t>(i - all.begin()) - 1;
    }
    [[nodiscard]] std::size_t length(std::size_t i) const {
      return (i + 1 == number ? elements : all[i + 1].before) - all[i].before;
    }
  };

  I first_;
  std::size_t n_;
  Pred const& pred_;
  std::size_t pairs_;
  std::array<piece, 2 * most_pairs> pieces_{};

  [[nodiscard]] I at(std::size_t i) const { return first_ + static_cast<difference>(i); }
  [[nodiscard]] std::size_t index(I i) const { return static_cast<std::size_t>(i - first_); }

  void partition_pair(std::size_t i) {
    piece& left = pieces_[i];
    piece& right = pieces_[2 * pairs_ - 1 - i];
    std::size_t const half = n_ / 2;
    left.begin = half * i / pairs_;
    left.end = half * (i + 1) / pairs_;
    right.begin = n_ - left.end;
    right.end = n_ - left.begin;
    if (i + 1 == pairs_) right.begin = left.end; // the middle element of an odd number
    two_sided_partition<I, Pred> work(pred_);
    I l = at(left.begin), re = at(right.end);
    work.run(l, at(left.end), at(right.begin), re);
    auto const [a, b] = work.finish_apart(l, at(left.end), at(right.begin), re);
    left.cut = index(a);
    right.cut = index(b);
  }

  /// Exchanges elements [lo, hi) of the ones with those of the others.
  void swap_misplaced(intervals const& a, intervals const& b, std::size_t lo, std::size_t hi) const {
    if (lo == hi) return;
    std::size_t i = a.with(lo), j = b.with(lo);
    while (lo != hi) {
      std::size_t const x = lo - a.all[i].before, y = lo - b.all[j].before;
      std::size_t const k = std::min({hi - lo, a.length(i) - x, b.length(j) - y});
      I l = at(a.all[i].begin + x), r = at(b.all[j].begin + y);
      for (std::size_t left = k; left != 0; --left) detail::swap_elements(l++, r++);
      if (x + k == a.length(i)) ++i;
      if (y + k == b.length(j)) ++j;
      lo += k;
    }
  }

public:
  static constexpr std::size_t many_swaps = 1 << 16;
  static constexpr std::int64_t worth_sharing_us = 150;
  static constexpr std::size_t pair = 1024;          // elements, at least
  static constexpr std::size_t long_range = 1 << 21; // fewer pairs below, since each leaves a rest
  static constexpr std::size_t worth_it = 2 * pair;

  mirrored_partition(I first, std::size_t n, Pred const& pred)
      : first_(first)
      , n_(n)
      , pred_(pred)
      , pairs_(std::clamp<std::size_t>(n / pair, 2, n < long_range ? most_pairs / 2 : most_pairs)) {}

  /// Returns how many elements the predicate holds for. The pool is looked up only if the first pair shows
  /// that the others will take a while; where the elements go does not depend on that.
  std::size_t run(pool* p) {
    throw_if_stopped();
    std::int64_t const begin = tick_count();
    partition_pair(0);
    std::int64_t const took = tick_count() - begin;
    auto const left = static_cast<std::uint32_t>(pairs_ - 1);
    auto const rest = [this](std::uint64_t lo, std::uint64_t hi) {
      for (; lo != hi; ++lo) partition_pair(lo + 1);
    };
    if (detail::outlasts(worth_sharing_us * ticks_per_us(), left, 1, took))
      detail::for_blocks(p, left, 1, rest);
    else
      rest(0, left);
    std::size_t cut = 0;
    for (piece const& one : pieces_) cut += one.cut - one.begin;
    intervals to_right, to_left; // of those that are on the wrong side
    for (piece const& one : pieces_) {
      to_right.add(one.cut, std::min(one.end, cut));
      to_left.add(std::max(one.begin, cut), one.cut);
    }
    auto const swap = [&](std::uint64_t lo, std::uint64_t hi) { swap_misplaced(to_right, to_left, lo, hi); };
    if (to_right.elements < many_swaps)
      swap(0, to_right.elements);
    else
      for_blocks(p, to_right.elements, 4096, swap);
    return cut;
  }
};

/// Partitions [first, last), in parallel where that pays. `alone`: on the calling thread.
template<class I, class Pred>
I partition_any(pool* p, bool alone, I first, I last, Pred const& pred) {
  auto const n = static_cast<std::size_t>(last - first);
  if (alone || n < mirrored_partition<I, Pred>::worth_it)
    return detail::partition_serially(first, last, pred);
  return first + static_cast<std::iter_difference_t<I>>(mirrored_partition<I, Pred>(first, n, pred).run(p));
}

/// Elements that a predicate can be asked for, and that can be moved about.
template<class I, class Pred, class Proj>
concept divisible_by = (std::permutable<I> || bit_iterator<I>) &&
                       std::indirect_unary_predicate<Pred const, std::projected<I, Proj const>>;

/// Returns the first element for which the predicate does not hold.
template<class I, class Pred, class Proj>
I partition_range(pool* p, I begin, I end, Pred const& pred, Proj const& proj) {
  test_of const test(pred, proj);
  if constexpr (bit_iterator<I>) {
    return std::partition(begin, end, test);
  } else if constexpr (!std::random_access_iterator<I>) {
    return std::ranges::partition(begin, end, test).begin();
  } else {
    auto const first = detail::bare_iterator(begin);
    auto const last = first + (end - begin);
    return begin + (detail::partition_any(p, !writable_apart<I>, first, last, test) - first);
  }
}

} // namespace rubato::detail
