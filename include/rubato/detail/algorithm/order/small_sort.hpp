// Sorting of so few elements that nothing but the number of instructions counts. All are there at any time:
// a comparator may throw, or be no strict weak order.
#pragma once

#include "rubato/detail/algorithm/order/either.hpp"
#include "rubato/detail/algorithm/order/element_moves.hpp"
#include "rubato/detail/algorithm/order/key_order.hpp"
#include "rubato/detail/algorithm/order/small_stable_sort.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// An element that was moved out of the range, and its place there: it gets back whatever happens. Its moves
/// do not throw; for others there is `lifted`.
template<class I>
struct held_element {
  std::iter_value_t<I> value;
  I hole;

  explicit held_element(I from)
      : value(std::ranges::iter_move(from))
      , hole(from) {}
  held_element(held_element const&) = delete;
  held_element& operator=(held_element const&) = delete;
  ~held_element() { *hole = std::move(value); }
};

/// Brings the last of n elements into its place among those before it, which are sorted.
template<class I, class Less>
void insert_last(I first, std::iter_difference_t<I> n, Less less) {
  I last = first + (n - 1);
  if (!less(*last, *std::ranges::prev(last))) return;
  held_element<I> held(last);
  do {
    I const before = std::ranges::prev(held.hole);
    *held.hole = std::ranges::iter_move(before);
    held.hole = before;
  } while (held.hole != first && less(held.value, *std::ranges::prev(held.hole)));
}

/// Sorts n elements, the first `sorted` of which are sorted.
template<class I, class Less>
void insertion_sort(I first, std::iter_difference_t<I> n, Less less, std::iter_difference_t<I> sorted = 1) {
  for (; sorted < n; ++sorted) detail::insert_last(first, sorted + 1, less);
}

/// K. E. Batcher's merge exchange for N elements, as pairs to compare (D. E. Knuth, TAOCP vol. 3, 5.2.2,
/// Algorithm M). For up to 16 it has at most three pairs more than the best network that is known.
template<std::size_t N>
struct sorting_network {
  struct pair {
    std::size_t low, high;
  };
  template<class Visit>
  static constexpr void visit_pairs(Visit visit) {
    constexpr std::size_t top = std::bit_ceil(N) / 2;
    for (std::size_t p = top; p != 0; p /= 2)
      for (std::size_t q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
        for (std::size_t i = 0; i + d < N; ++i)
          if ((i & p) == r) visit(pair{i, i + d});
        if (q == p) break;
      }
  }
  static constexpr std::size_t size = [] {
    std::size_t pairs = 0;
    visit_pairs([&pairs](pair) { ++pairs; });
    return pairs;
  }();
  static constexpr std::array<pair, size> pairs = [] {
    std::array<pair, size> made{};
    std::size_t next = 0;
    visit_pairs([&](pair visited) { made[next++] = visited; });
    return made;
  }();
};

template<std::size_t Bytes>
using bits_of_size =
    std::conditional_t<Bytes == 1, std::uint8_t,
                       std::conditional_t<Bytes == 2, std::uint16_t,
                                          std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

/// Swaps them unless they are in order, without a branch. GCC makes one of `swap ? b : a` where both results
/// depend on the same condition.
template<class T, class Less>
[[gnu::always_inline]] inline void order_two(T* low, T* high, Less less) {
#ifdef __clang__
  T a = *low, b = *high; // no const: a comparator may take T&
  bool const swap = less(b, a);
  *low = detail::either(a, b, swap);
  *high = detail::either(b, a, swap);
#else
  if constexpr (std::is_scalar_v<T> && std::has_single_bit(sizeof(T)) && sizeof(T) <= 8) {
    using bits = bits_of_size<sizeof(T)>;
    bits const mask = static_cast<bits>(0U - static_cast<bits>(less(*high, *low)));
    bits const a = std::bit_cast<bits>(*low), b = std::bit_cast<bits>(*high);
    bits const change = static_cast<bits>((a ^ b) & mask);
    *low = std::bit_cast<T>(static_cast<bits>(a ^ change));
    *high = std::bit_cast<T>(static_cast<bits>(b ^ change));
  } else {
    std::ptrdiff_t const swap = less(*high, *low) ? high - low : 0;
    T const a = low[swap], b = *(high - swap);
    *low = a;
    *high = b;
  }
#endif
}

template<std::size_t N, class T, class Less>
[[gnu::noinline]] void sort_by_network(T* v, Less less) {
  constexpr auto& pairs = sorting_network<N>::pairs;
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (detail::order_two(v + pairs[K].low, v + pairs[K].high, less), ...);
  }(std::make_index_sequence<pairs.size()>());
}

/// At most 16 elements: the largest network that fits, and the rest by insertion.
template<class T, class Less>
void sort_half(T* v, std::ptrdiff_t n, Less less) {
  std::ptrdiff_t sorted = 1;
  if (n >= 16)
    detail::sort_by_network<16>(v, less), sorted = 16;
  else if (n >= 12)
    detail::sort_by_network<12>(v, less), sorted = 12;
  else if (n >= 8)
    detail::sort_by_network<8>(v, less), sorted = 8;
  else if (n >= 4)
    detail::sort_by_network<4>(v, less), sorted = 4;
  detail::insertion_sort(v, n, less, sorted);
}

/// Room for elements that are assigned before they are read.
template<class T, std::size_t N>
union unmade {
  T elements[N];
  unmade() noexcept {} // NOLINT(modernize-use-equals-default): would be deleted
};

/// Merges v[0, n/2) and v[n/2, n) into `to`, from both ends at the same time: each step takes one element
/// from the front and one from the back, without a branch. n/2 steps stay within v, whatever the comparator
/// says. Returns false if it was no strict weak order, and then `to` may lack elements.
template<class T, class Less>
bool merge_both_ends(T* v, std::ptrdiff_t n, T* to, Less less) {
  std::ptrdiff_t const half = n / 2;
  T *left = v, *right = v + half;
  T *left_back = v + half - 1, *right_back = v + n - 1;
  T* back = to + n - 1;
  for (std::ptrdiff_t step = 0; step != half; ++step) {
    bool const from_right = less(*right, *left);
    *to++ = *detail::either(left, right, from_right);
    right += from_right;
    left += !from_right;
    bool const from_left = less(*right_back, *left_back);
    *back-- = *detail::either(right_back, left_back, from_left);
    left_back -= from_left;
    right_back -= !from_left;
  }
  if (n % 2 != 0) {
    bool const from_left = left <= left_back;
    *to = *(from_left ? left : right);
    left += from_left;
    right += !from_left;
  }
  return left == left_back + 1 && right == right_back + 1;
}

template<class I>
inline constexpr std::ptrdiff_t most_for_small_sort = are_cheap_to_copy<I> ? 32 : 20;

template<class I, class Less>
void small_sort(I first, std::iter_difference_t<I> n, Less less) {
  if constexpr (are_cheap_to_copy<I>) {
    using value = std::iter_value_t<I>;
    if (n < 2) return;
    if (n <= 16) return detail::sort_half(first, n, less);
    detail::sort_half(first, n / 2, less);
    detail::sort_half(first + n / 2, n - n / 2, less);
    unmade<value, 32> merged;
    if (detail::merge_both_ends(first, n, merged.elements, less))
      for (std::ptrdiff_t i = 0; i != n; ++i) first[i] = merged.elements[i];
  } else if constexpr (moves_may_throw<std::iter_value_t<I>>) {
    detail::stable_insertion_sort(first, first + n, less);
  } else {
    detail::insertion_sort(first, n, less);
  }
}

} // namespace rubato::detail
