// Sorts and merges whose leaves are libstdc++'s serial algorithms. A leaf may construct what it writes.
#pragma once

#include "rubato/algorithm/order.hpp"
#include "rubato/detail/algorithm/order/merge_serially.hpp"
#include "rubato/pstl/blocks.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>

namespace rubato::detail::pstl {

/// A stable sort by several threads, if Rubato's knows these iterators.
template<class I, class Less>
void sort_stably(I first, I last, Less const& less) {
  if constexpr (ordered_by<I, Less, std::identity>)
    stable_sort_fn{}(first, last, less);
  else
    std::stable_sort(first, last, less);
}

/// leaf(i, j, less) of several parts puts the first `sorted` elements of each in front of it, in order. What
/// is in front of the parts goes to the front of the range, and is sorted there.
template<class I, class Less, class Leaf>
void sort_in_front(thread_context& me, I first, std::uint64_t n, std::uint64_t sorted, Less const& less,
                   Leaf const& leaf) {
  constexpr std::uint64_t serial = 2048; // elements that one thread sorts
  std::uint64_t const parts =
      std::clamp(n / serial, std::uint64_t{1}, std::uint64_t{4} * std::max(1U, size_of(*me.core)));
  auto const begin_of = [&](std::uint64_t p) { return p * (n / parts) + std::min(p, n % parts); };
  pstl::for_each_block(parts, [&](std::uint64_t p) {
    leaf(pstl::ahead(first, begin_of(p)), pstl::ahead(first, begin_of(p + 1)), less);
  });
  if (parts == 1) return;
  std::uint64_t in_front = 0;
  for (std::uint64_t p = 0; p != parts; ++p) {
    std::uint64_t const begin = begin_of(p), front = std::min(sorted, begin_of(p + 1) - begin);
    if (begin != in_front)
      for (std::uint64_t i = 0; i != front; ++i)
        std::iter_swap(pstl::ahead(first, in_front + i), pstl::ahead(first, begin + i));
    in_front += front;
  }
  pstl::sort_stably(first, pstl::ahead(first, in_front), less);
}

/// `sorted`: how many elements have to come to the front, in order, as `leaf` knows; 0: all, and `leaf` does
/// nothing but sort them.
template<class I, class Less, class Leaf>
void sort_by_leaves(I first, I last, Less const& less, Leaf const& leaf, std::uint64_t sorted) {
  std::uint64_t const n = pstl::length(first, last);
  if (n == 0) return;
  pstl::unstopped([&](thread_context& me) {
    if (sorted != 0)
      pstl::sort_in_front(me, first, n, sorted, less, leaf);
    else if constexpr (ordered_by<I, Less, std::identity>)
      stable_sort_fn{}(first, last, less);
    else
      leaf(first, last, less);
  });
}

/// leaf(x, xe, y, ye, z, less) of parts of both ranges, each with a part of the output. All cuts are known
/// before the first leaf: leaves may move the elements away. Source: see cut_of_merge().
template<class X, class Y, class Z, class Less, class Leaf>
void merge_by_leaves(X x, X xe, Y y, Y ye, Z z, Less less, Leaf const& leaf) {
  constexpr std::uint64_t serial = 4096; // elements that one thread merges
  std::uint64_t const xs = pstl::length(x, xe), ys = pstl::length(y, ye), n = xs + ys;
  pstl::unstopped([&](thread_context& me) {
    if (n <= serial) {
      leaf(x, xe, y, ye, z, less);
      return;
    }
    even_blocks const blocks(me, n, serial / 2);
    auto const cuts = std::make_unique<std::uint64_t[]>(blocks.size() + 1);
    for (std::uint64_t b = 0; b <= blocks.size(); ++b)
      cuts[b] = detail::cut_of_merge(xs, ys, blocks.begin_of(b), [&](std::size_t j, std::size_t i) {
        return less(*pstl::ahead(y, j), *pstl::ahead(x, i));
      });
    pstl::for_each_block(blocks.size(), [&](std::uint64_t b) {
      std::uint64_t const begin = blocks.begin_of(b), end = blocks.begin_of(b + 1);
      leaf(pstl::ahead(x, cuts[b]), pstl::ahead(x, cuts[b + 1]), pstl::ahead(y, begin - cuts[b]),
           pstl::ahead(y, end - cuts[b + 1]), pstl::ahead(z, begin), less);
    });
  });
}

} // namespace rubato::detail::pstl
