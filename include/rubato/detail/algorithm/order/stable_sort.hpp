// The stable sort: a merge sort that forks, whose merges fork too. docs/design/algorithms.md
#pragma once

#include "rubato/detail/algorithm/fork_attempts.hpp"
#include "rubato/detail/algorithm/order/element_moves.hpp"
#include "rubato/detail/algorithm/order/key_order.hpp"
#include "rubato/detail/algorithm/order/merge_in_place.hpp"
#include "rubato/detail/algorithm/order/merge_serially.hpp"
#include "rubato/detail/algorithm/order/natural_order.hpp"
#include "rubato/detail/algorithm/order/raw_memory.hpp"
#include "rubato/detail/algorithm/order/small_stable_sort.hpp"
#include "rubato/detail/algorithm/order/sort.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// Sorts `n` elements with memory for as many. The elements of an interval are, all of them, in the array or
/// at the same places of the memory, in turn from level to level. The array's elements are alive all the
/// time, moved from or not; those of the memory only while the interval is there.
///
/// After a failure or a stop the elements of every interval come back to the array, in any order. Plain data
/// never leaves the place that it is copied from.
template<class I, class Less>
class stable_sorter {
  using value = std::iter_value_t<I>;
  using difference = std::iter_difference_t<I>;
  static constexpr bool plain = plain_span<I>;
  static constexpr std::size_t leaf = plain ? small_block : 12;
  static constexpr std::size_t serial = 1 << 13; // elements of a part that one thread sorts
  static constexpr std::size_t serial_merge = 1 << 14;

  /// [l, le) and [r, re) of one place, which go to `out` and on of the other one.
  struct piece {
    std::size_t l, le, r, re, out;
    [[nodiscard]] std::size_t size() const noexcept { return (le - l) + (re - r); }
  };

  I first_;
  value* memory_;
  Less const& less_;
  fork_attempts& tree_;

  [[nodiscard]] I array(std::size_t i) const noexcept { return first_ + static_cast<difference>(i); }
  template<bool ToMemory>
  [[nodiscard]] auto from(std::size_t i) const noexcept {
    if constexpr (ToMemory)
      return array(i);
    else
      return memory_ + i;
  }

  /// The elements of a piece from the memory to the array, in any order.
  void bring_back(piece const& p) noexcept {
    if constexpr (plain) {
      std::copy(memory_ + p.r, memory_ + p.re, std::copy(memory_ + p.l, memory_ + p.le, array(p.out)));
    } else {
      I to = array(p.out);
      for (std::size_t i = p.l; i != p.le; ++i, void(), ++to)
        detail::move_at_last([&] { *to = std::move(memory_[i]); });
      for (std::size_t i = p.r; i != p.re; ++i, void(), ++to)
        detail::move_at_last([&] { *to = std::move(memory_[i]); });
      end_lives(p);
    }
  }
  /// What a piece has at `out` and on of the memory, up to `end`, back to where it was in the array: so many
  /// from the left run, the others from the right one.
  void undo(piece const& p, std::size_t left, std::size_t end) noexcept {
    if constexpr (!plain) {
      I to = array(p.l);
      std::size_t i = p.out;
      for (; i != p.out + left; ++i, void(), ++to) detail::move_at_last([&] { *to = std::move(memory_[i]); });
      to = array(p.r);
      for (; i != end; ++i, void(), ++to) detail::move_at_last([&] { *to = std::move(memory_[i]); });
      std::destroy(memory_ + p.out, memory_ + end);
    }
  }
  void end_lives(piece const& p) noexcept {
    if constexpr (!plain) {
      std::destroy(memory_ + p.l, memory_ + p.le);
      std::destroy(memory_ + p.r, memory_ + p.re);
    }
  }
  /// Nothing of the piece is merged. False: it is in the array, and should not be.
  template<bool ToMemory>
  bool abandon(piece const& p) noexcept {
    if constexpr (!ToMemory) bring_back(p);
    return !ToMemory;
  }

  template<bool ToMemory>
  bool merge_objects(piece const& p) noexcept {
    std::size_t l = p.l, r = p.r, out = p.out;
    auto const put = [this](std::size_t to, std::size_t i) {
      if constexpr (ToMemory)
        std::construct_at(memory_ + to, std::ranges::iter_move(array(i)));
      else
        *array(to) = std::move(memory_[i]);
    };
    bool const merged = tree_.attempt([&] {
      // A branch: a guess, even a bad one, has the next elements' own memory on the way.
      while (l != p.le && r != p.re) {
        if (less_(*from<ToMemory>(r), *from<ToMemory>(l))) {
          put(out, r);
          ++r;
        } else {
          put(out, l);
          ++l;
        }
        ++out;
      }
      for (; l != p.le; ++l, void(), ++out) put(out, l);
      for (; r != p.re; ++r, void(), ++out) put(out, r);
    });
    if constexpr (ToMemory) {
      if (!merged) undo(p, l - p.l, out);
      return merged;
    } else {
      if (!merged) {
        for (; l != p.le; ++l, void(), ++out)
          detail::move_at_last([&] { *array(out) = std::move(memory_[l]); });
        for (; r != p.re; ++r, void(), ++out)
          detail::move_at_last([&] { *array(out) = std::move(memory_[r]); });
      }
      end_lives(p);
      return true;
    }
  }

  /// True: the piece has come to the other place.
  template<bool ToMemory>
  bool merge_here(piece const& p) noexcept {
    if constexpr (!plain) {
      return merge_objects<ToMemory>(p);
    } else {
      value* const in = ToMemory ? first_ : memory_;
      value* const out = (ToMemory ? memory_ : first_) + p.out;
      return tree_.attempt([&] {
        if (p.l == p.le || p.r == p.re || !less_(in[p.r], in[p.le - 1]))
          std::copy(in + p.r, in + p.re, std::copy(in + p.l, in + p.le, out));
        else if (less_(in[p.re - 1], in[p.l]))
          std::copy(in + p.l, in + p.le, std::copy(in + p.r, in + p.re, out));
        else
          detail::merge_plain(in + p.l, in + p.le, in + p.r, in + p.re, out, less_);
      }) || abandon<ToMemory>(p);
    }
  }

  template<bool ToMemory>
  bool merge_piece(context* c, piece const& p) noexcept {
    if (c == nullptr || p.size() <= serial_merge) return merge_here<ToMemory>(p);
    if (tree_.stopped()) return abandon<ToMemory>(p);
    std::size_t const half = p.size() / 2;
    std::size_t left = 0;
    bool const known = tree_.attempt([&] {
      left = detail::cut_of_merge(p.le - p.l, p.re - p.r, half, [&](std::size_t j, std::size_t i) {
        return less_(*from<ToMemory>(p.r + j), *from<ToMemory>(p.l + i));
      });
    });
    if (!known) return abandon<ToMemory>(p);
    piece const a{p.l, p.l + left, p.r, p.r + (half - left), p.out};
    piece const b{a.le, p.le, a.re, p.re, p.out + half};
    bool first = false, second = false;
    tree_.fork(
        c, [&](context* mine) { first = merge_piece<ToMemory>(mine, a); },
        [&](context* its) { second = merge_piece<ToMemory>(its, b); });
    if (first == second) return first;
    piece const& done = first ? a : b; // in the memory, where the other part has not come
    undo(done, done.le - done.l, done.out + done.size());
    return false;
  }

  template<bool ToMemory>
  bool sort_leaf(std::size_t lo, std::size_t hi) noexcept {
    if constexpr (plain) {
      if (hi - lo == small_block)
        return tree_.attempt([&] { detail::sort_block<ToMemory>(first_ + lo, memory_ + lo, less_); }) ||
               !ToMemory;
    }
    bool const sorted = tree_.attempt([&] { detail::stable_insertion_sort(array(lo), array(hi), less_); });
    if constexpr (ToMemory)
      return sorted && merge_here<true>(piece{lo, hi, hi, hi, lo});
    else
      return true;
  }

public:
  stable_sorter(I first, value* memory, Less const& less, fork_attempts& tree) noexcept
      : first_(first)
      , memory_(memory)
      , less_(less)
      , tree_(tree) {}

  /// True: the elements have come to where they should. False: they are in the array.
  template<bool ToMemory>
  bool sort_part(context* c, std::size_t lo, std::size_t hi) noexcept {
    std::size_t const n = hi - lo;
    if (n <= leaf) return sort_leaf<ToMemory>(lo, hi);
    if (n > 16 * leaf && tree_.stopped()) return !ToMemory;
    std::size_t const half = plain ? (n / 2 + leaf - 1) / leaf * leaf : n / 2;
    std::size_t const middle = lo + half;
    if (n <= serial) c = nullptr;
    bool first = false, second = false;
    tree_.fork(
        c, [&](context* mine) { first = sort_part<!ToMemory>(mine, lo, middle); },
        [&](context* its) { second = sort_part<!ToMemory>(its, middle, hi); });
    if constexpr (!ToMemory) {
      if (!first || !second) {
        if (first) bring_back({lo, middle, middle, middle, lo});
        if (second) bring_back({middle, hi, hi, hi, middle});
        return true;
      }
    }
    return merge_piece<ToMemory>(c, {lo, middle, middle, hi, lo});
  }
};

/// Is [first, last) sorted, or sorted when it has been reversed? Then it is sorted. One pass, which ends
/// where it is clear that it is neither.
template<class I, class Less>
[[nodiscard]] bool was_one_run(I first, I last, Less const& less) {
  I i = first + 1;
  if (!less(*i, *first)) {
    for (++i; i != last && !less(*i, *(i - 1));) ++i;
    return i == last;
  }
  for (++i; i != last && less(*i, *(i - 1));) ++i; // strictly: equal elements would change places
  if (i != last) return false;
  for (; first < --last; ++first) detail::swap_elements(first, last);
  return true;
}

inline constexpr std::size_t stable_sort_alone = 2048; // fewer elements are sorted by the calling thread

/// Elements of which equal ones are alike in every respect under this order, so that any sort is stable. Not
/// floating-point numbers: -0.0 equals 0.0.
template<class T, class Comp, class Proj>
inline constexpr bool equal_is_same =
    order_named_by<T, Comp, Proj> != natural::no && (std::is_integral_v<T> || std::is_same_v<T, std::string>);

template<class I, class Comp, class Proj>
void stable_sort_range(pool* p, I begin, I end, Comp const& comp, Proj const& proj) {
  if constexpr (bit_iterator<I> || equal_is_same<std::iter_value_t<I>, Comp, Proj>) {
    detail::sort_range<sort_memory::allowed>(p, begin, end, comp, proj);
  } else {
    auto const first = detail::bare_iterator(begin);
    auto const last = first + (end - begin);
    auto const n = static_cast<std::size_t>(end - begin);
    key_order const less(comp, proj);
    if (n < 2 || detail::was_one_run(first, last, less)) return;
    if (n <= 20) return detail::stable_insertion_sort(first, last, less);
    raw_memory<std::iter_value_t<I>> const memory(n);
    bool const alone = n < stable_sort_alone || !writable_apart<I>;
    detail::with_fork_attempts(p, alone, n >= (1U << 14U), [&](fork_attempts& tree, context* c) {
      if (memory.get() == nullptr)
        detail::sort_in_place(tree, c, first, last, less);
      else
        stable_sorter(first, memory.get(), less, tree).template sort_part<false>(c, 0, n);
    });
  }
}

} // namespace rubato::detail
