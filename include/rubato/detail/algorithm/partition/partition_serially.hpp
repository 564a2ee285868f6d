// Partitions by one thread: block by block from both ends, without a branch that depends on the elements.
#pragma once

#include "rubato/detail/algorithm/order/element_moves.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

namespace rubato::detail {

/// Brings elements for which the predicate holds from a right interval to a left one, in exchange for others.
/// Of a block at each side it notes first which elements are on the wrong side, without a branch, and then
/// moves them. Calls the predicate once for each element. Source: S. Edelkamp and A. Weiss, BlockQuicksort
/// (ESA 2016). The predicate sees no element out of its place, so none is lost if it throws.
template<class I, class Pred>
class two_sided_partition {
  using difference = std::iter_difference_t<I>;
  static constexpr difference block = 128;
  using offsets = std::array<unsigned char, static_cast<std::size_t>(block)>;

  Pred const& pred_;
  offsets left_, right_; // of the elements on the wrong side: from the left end, from the right one
  std::size_t left_at_ = 0, left_left_ = 0, right_at_ = 0, right_left_ = 0;

  /// Notes the places i for which is_wrong(i), and returns how many. Eight at a time are tested before any is
  /// noted: so compilers know that no store changes them.
  template<class IsWrong>
  static std::size_t note(offsets& places, unsigned n, IsWrong is_wrong) {
    std::size_t found = 0;
    unsigned i = 0;
    for (; n - i >= 8; i += 8) {
      std::array<bool, 8> wrong;
      for (unsigned k = 0; k != 8; ++k) wrong[k] = is_wrong(i + k);
      for (unsigned k = 0; k != 8; ++k) {
        places[found] = static_cast<unsigned char>(i + k);
        found += wrong[k];
      }
    }
    for (; i != n; ++i) {
      places[found] = static_cast<unsigned char>(i);
      found += is_wrong(i);
    }
    return found;
  }
  void scan_left(I l, difference n) {
    left_at_ = 0;
    left_left_ = note(left_, static_cast<unsigned>(n),
                      [this, l](unsigned i) { return !pred_(*(l + static_cast<difference>(i))); });
  }
  void scan_right(I re, difference n) {
    right_at_ = 0;
    right_left_ = note(right_, static_cast<unsigned>(n), [this, re](unsigned i) -> bool {
      return pred_(*(re - 1 - static_cast<difference>(i)));
    });
  }

  [[nodiscard]] I on_left(I l, std::size_t i) const {
    return l + static_cast<difference>(left_[left_at_ + i]);
  }
  [[nodiscard]] I on_right(I re, std::size_t i) const {
    return re - 1 - static_cast<difference>(right_[right_at_ + i]);
  }

  /// Exchanges as many as both sides have.
  void exchange_blocks(I l, I re) {
    std::size_t const n = std::min(left_left_, right_left_);
    if constexpr (plain_span<I>) {
      if (n != 0) { // in a circle: one move an element in place of three for two
        unsigned char const* a = left_.data() + left_at_;
        unsigned char const* b = right_.data() + right_at_;
        unsigned char const* const last = a + (n - 1);
        I const r = re - 1;
        I to = l + *a;
        auto const first = *to;
        for (; a != last; ++b) {
          I const from = r - *b;
          *to = *from;
          to = l + *++a;
          *from = *to;
        }
        *to = *(r - *b);
        *(r - *b) = first;
      }
    } else {
      for (std::size_t i = 0; i != n; ++i) detail::swap_elements(on_left(l, i), on_right(re, i));
    }
    left_at_ += n;
    right_at_ += n;
    left_left_ -= n;
    right_left_ -= n;
  }

public:
  explicit two_sided_partition(Pred const& pred) noexcept
      : pred_(pred) {}

  /// Works on blocks of [l, le) from its left end and of [r, re) from its right one while both have one left.
  /// Moves l and re inwards; the elements outside are where they belong.
  void run(I& l, I le, I r, I& re) {
    while (le - l >= block && re - r >= block) {
      if (left_left_ == 0) scan_left(l, block);
      if (right_left_ == 0) scan_right(re, block);
      exchange_blocks(l, re);
      if (left_left_ == 0) l += block;
      if (right_left_ == 0) re -= block;
    }
  }
  /// The same within one interval; returns the first element for which the predicate does not hold.
  I finish(I first, I last) {
    while (last - first >= 2 * block) {
      if (left_left_ == 0) scan_left(first, block);
      if (right_left_ == 0) scan_right(last, block);
      exchange_blocks(first, last);
      if (left_left_ == 0) first += block;
      if (right_left_ == 0) last -= block;
    }
    // At most one side has a block that is not used up, and less than a block, or two, is not scanned.
    difference left = left_left_ != 0 ? block : 0, right = right_left_ != 0 ? block : 0;
    difference const rest = last - first - left - right;
    if (left == 0 && right == 0) {
      scan_left(first, left = rest / 2);
      scan_right(last, right = rest - left);
    } else if (left == 0) {
      scan_left(first, left = rest);
    } else {
      scan_right(last, right = rest);
    }
    exchange_blocks(first, last);
    if (left_left_ != 0) {
      last -= right;
      for (std::size_t i = left_left_; i != 0; --i) detail::swap_elements(on_left(first, i - 1), --last);
      left_left_ = 0;
      return last;
    }
    first += left;
    for (std::size_t i = right_left_; i != 0; --i) detail::swap_elements(on_right(last, i - 1), first++);
    right_left_ = 0;
    return first;
  }
  /// Partitions what run() has left of both intervals, each in itself. Returns where each is cut.
  std::pair<I, I> finish_apart(I l, I le, I r, I re) {
    if (right_left_ == 0) {
      I const left = finish(l, le);
      return {left, finish(r, re)};
    }
    I const right = finish(r, re);
    return {finish(l, le), right};
  }
};

template<class I, class Pred>
I partition_serially(I first, I last, Pred const& pred) {
  return two_sided_partition<I, Pred>(pred).finish(first, last);
}

} // namespace rubato::detail
