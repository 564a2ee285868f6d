// Sorting: which way a range takes.
#pragma once

#include "rubato/detail/algorithm/order/key_order.hpp"
#include "rubato/detail/algorithm/order/natural_order.hpp"
#include "rubato/detail/algorithm/order/parallel_run.hpp"
#include "rubato/detail/algorithm/order/parallel_sort.hpp"
#include "rubato/detail/algorithm/order/quicksort.hpp"
#include "rubato/detail/algorithm/order/radix_sort.hpp"
#include "rubato/detail/algorithm/order/string_sort.hpp"
#include "rubato/detail/work/pool_port.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

namespace rubato::detail {

/// May a sort take memory for the elements?
enum class sort_memory : unsigned char { none, allowed };

/// Fewer elements are sorted by the calling thread, which looks up no pool.
inline constexpr std::ptrdiff_t serial_sort_below = 2'048;

/// There are two values, so the comparator is asked twice.
template<class Comp, class Proj>
void sort_bits(std::vector<bool>::iterator first, std::vector<bool>::iterator last, Comp const& comp,
               Proj const& proj) {
  key_order const less(comp, proj);
  bool no = false, yes = true;
  bool const ascending = less(no, yes);
  if (!ascending && !less(yes, no)) return; // equivalent
  auto const border = first + std::count(first, last, !ascending);
  std::fill(first, border, !ascending);
  std::fill(border, last, ascending);
}

/// So many numbers or strings may be sorted by their representation.
inline constexpr std::ptrdiff_t sort_by_bits_from = 1 << 16;

/// True if the elements have been sorted by their representation. False: nothing has happened.
template<natural Order, class I>
[[nodiscard]] bool sort_by_bits(fork_tree const& tree, context& c, I first, std::ptrdiff_t n,
                                sort_memory memory) {
  using value = std::iter_value_t<I>;
  if constexpr (Order != natural::no && std::is_pointer_v<I>) {
    if (n < sort_by_bits_from) return false;
    if constexpr (has_ordered_bits<value>)
      return radix_sort<value, Order>(tree, first, static_cast<std::size_t>(n))
          .sort(c, memory == sort_memory::allowed);
    else if constexpr (std::same_as<value, std::string>)
      return memory == sort_memory::allowed &&
             string_sort<Order>(tree, first, static_cast<std::size_t>(n)).sort(c);
  }
  return false;
}

template<sort_memory Memory, natural Order, class I, class Less>
void sort_elements(pool* p, I first, std::iter_difference_t<I> n, Less less) {
  constexpr std::ptrdiff_t worth_a_wake = 1 << 14; // 150 us for integers
  if (shares_words<I> || n < serial_sort_below) return detail::serial_sort(first, n, less);
  detail::with_fork_tree(p, [&](fork_tree const& tree, context& c) {
    if (n >= worth_a_wake) notify_of_latent(thread_context::of(c));
    if (detail::sort_run(tree, c, first, n, less) || detail::sort_by_bits<Order>(tree, c, first, n, Memory))
      return;
    detail::quicksort_in_parallel(tree, c, first, n, less);
  });
}

template<sort_memory Memory, class I, class Comp, class Proj>
void sort_range(pool* p, I first, I last, Comp const& comp, Proj const& proj) {
  if constexpr (bit_iterator<I>)
    detail::sort_bits(first, last, comp, proj);
  else
    sort_elements<Memory, order_named_by<std::iter_value_t<I>, Comp, Proj>>(
        p, detail::bare_iterator(first), last - first, key_order(comp, proj));
}

} // namespace rubato::detail
