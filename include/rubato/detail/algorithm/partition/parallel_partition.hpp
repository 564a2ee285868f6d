// A partition on several threads: blocks whose number depends on the length alone are partitioned side by
// side, and then what stands on the wrong side is swapped.
#pragma once

#include "rubato/detail/algorithm/fork_tree.hpp"
#include "rubato/detail/algorithm/order/element_moves.hpp"
#include "rubato/detail/algorithm/order/quicksort.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

namespace rubato::detail {

/// Places in a range, as intervals, which are counted as if they were one.
class scattered_places {
public:
  static constexpr std::size_t most = 32;
  struct interval {
    std::ptrdiff_t first = 0, size = 0;
  };

private:
  std::array<interval, most> intervals_{};
  std::size_t count_ = 0;
  std::ptrdiff_t places_ = 0;

public:
  void add(std::ptrdiff_t first, std::ptrdiff_t last) noexcept {
    if (first >= last) return;
    intervals_[count_++] = {first, last - first};
    places_ += last - first;
  }
  [[nodiscard]] std::ptrdiff_t size() const noexcept { return places_; }

  /// Walks over the places from the k-th on.
  class walker {
    interval const* at_;
    std::ptrdiff_t passed_;

  public:
    walker(scattered_places const& places, std::ptrdiff_t k) noexcept
        : at_(places.intervals_.data())
        , passed_(k) {
      for (; passed_ >= at_->size; ++at_) passed_ -= at_->size;
    }
    /// So many places lie side by side.
    [[nodiscard]] std::ptrdiff_t adjacent() const noexcept { return at_->size - passed_; }
    [[nodiscard]] std::ptrdiff_t place() const noexcept { return at_->first + passed_; }
    /// At most adjacent(). Behind the last place there is none.
    void advance(std::ptrdiff_t by) noexcept {
      passed_ += by;
      if (passed_ == at_->size) ++at_, passed_ = 0;
    }
  };
};

/// Swaps the elements at the places [lo, hi) of one list with those of the other.
template<class I>
void swap_places(I first, scattered_places const& a, scattered_places const& b, std::ptrdiff_t lo,
                 std::ptrdiff_t hi) {
  if (lo == hi) return;
  scattered_places::walker left(a, lo), right(b, lo);
  for (;;) {
    std::ptrdiff_t const n = std::min({left.adjacent(), right.adjacent(), hi - lo});
    I const from = first + left.place(), to = first + right.place();
    for (std::ptrdiff_t i = 0; i != n; ++i) detail::swap_elements(from + i, to + i);
    lo += n;
    if (lo == hi) return;
    left.advance(n);
    right.advance(n);
  }
}

/// As `partition_elements`, on several threads. If in_front throws or a stop is requested, all elements are
/// there.
template<class I, class Predicate>
[[nodiscard]] std::iter_difference_t<I> partition_blocks(fork_tree const& tree, context& c, I first,
                                                         std::iter_difference_t<I> n,
                                                         Predicate const& in_front) {
  constexpr std::ptrdiff_t block = 1 << 14;
  auto const blocks = std::clamp<std::size_t>(static_cast<std::size_t>(n / block), 2, scattered_places::most);
  auto const begin_of = [n, blocks](std::size_t b) { // n < 2^58
    return static_cast<std::ptrdiff_t>(static_cast<std::size_t>(n) * b / blocks);
  };
  std::array<std::ptrdiff_t, scattered_places::most> in_front_of{};
  tree.for_each_index(c, 0, blocks, [&](std::size_t b) {
    tree.throw_if_stopped();
    auto const begin = begin_of(b);
    in_front_of[b] = tree.attempt(
        [&] { return detail::partition_elements(first + begin, begin_of(b + 1) - begin, in_front); });
  });
  std::ptrdiff_t border = 0;
  for (std::size_t b = 0; b != blocks; ++b) border += in_front_of[b];
  scattered_places to_the_right, to_the_left;
  for (std::size_t b = 0; b != blocks; ++b) {
    auto const begin = begin_of(b), end = begin_of(b + 1), middle = begin + in_front_of[b];
    to_the_right.add(middle, std::min(end, border));
    to_the_left.add(std::max(begin, border), middle);
  }
  std::ptrdiff_t const swaps = to_the_right.size();
  tree.for_each_index(c, 0, blocks, [&](std::size_t b) {
    auto const share = [swaps, blocks](std::size_t k) {
      return static_cast<std::ptrdiff_t>(static_cast<std::size_t>(swaps) * k / blocks);
    };
    tree.attempt([&] { detail::swap_places(first, to_the_right, to_the_left, share(b), share(b + 1)); });
  });
  return border;
}

} // namespace rubato::detail
