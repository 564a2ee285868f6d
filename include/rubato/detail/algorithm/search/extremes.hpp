// The least and the greatest element: of each piece of the range, then of these.
#pragma once

#include "rubato/detail/algorithm/elements.hpp"
#include "rubato/detail/algorithm/order/share_out.hpp"
#include "rubato/detail/algorithm/search/extreme_value.hpp"
#include "rubato/detail/fork/index_loop.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// Several threads call comparator and projection at once, so both are called as const.
template<class I, class Comp, class Proj>
concept weakly_ordered_by =
    std::forward_iterator<I> && std::indirect_strict_weak_order<Comp const, std::projected<I, Proj const>>;

enum class extreme : unsigned char { least, greatest, last_greatest };

/// What decides between the best so far and an element behind it.
template<extreme Which, class Comp, class Proj>
struct contest {
  kept_in_loop<Comp> comp;
  kept_in_loop<Proj> proj;

  template<class A, class B>
  bool operator()(A&& best, B&& x) const {
    auto const comes_first = [this](auto&& a, auto&& b) {
      return static_cast<bool>(std::invoke(comp, std::invoke(proj, std::forward<decltype(a)>(a)),
                                           std::invoke(proj, std::forward<decltype(b)>(b))));
    };
    if constexpr (Which == extreme::least)
      return comes_first(std::forward<B>(x), std::forward<A>(best));
    else if constexpr (Which == extreme::greatest)
      return comes_first(std::forward<A>(best), std::forward<B>(x));
    else
      return !comes_first(std::forward<B>(x), std::forward<A>(best));
  }
};

/// Numbers by their own order. Not enumerations: a program may give them an order of its own.
template<class I, class Comp, class Proj>
inline constexpr bool found_by_value =
    array_of_numbers<I> && std::is_arithmetic_v<std::iter_value_t<I>> &&
    std::is_same_v<Proj, std::identity> && direction_of<Comp, std::iter_value_t<I>> != 0;

/// The extreme of places [lo, hi), lo != hi.
template<extreme Which, class I, class Comp, class Proj>
std::uint64_t extreme_of(I const& first, std::uint64_t lo, std::uint64_t hi, Comp const& comp,
                         Proj const& proj) {
  if constexpr (found_by_value<I, Comp, Proj>) {
    constexpr int direction = direction_of<Comp, std::iter_value_t<I>>;
    return extreme_place < Which == extreme::least ? direction : -direction,
           Which == extreme::last_greatest > (std::to_address(first), lo, hi);
  } else {
    contest<Which, Comp, Proj> const replaced{comp, proj};
    std::uint64_t best = lo;
    auto at = detail::cursor_at(first, lo);
    auto c = at;
    for (std::uint64_t i = lo + 1; i != hi; ++i) {
      ++c;
      if (!replaced(*at, *c)) continue;
      best = i;
      at = c;
    }
    return best;
  }
}

/// The least element and the last of the greatest ones, with three comparisons for two elements.
template<class I, class Comp, class Proj>
std::pair<std::uint64_t, std::uint64_t> both_of(I const& first, std::uint64_t lo, std::uint64_t hi,
                                                Comp const& comp, Proj const& proj) {
  if constexpr (found_by_value<I, Comp, Proj>) {
    return {detail::extreme_of<extreme::least>(first, lo, hi, comp, proj),
            detail::extreme_of<extreme::last_greatest>(first, lo, hi, comp, proj)};
  } else {
    contest<extreme::least, Comp, Proj> const is_less{comp, proj};
    contest<extreme::last_greatest, Comp, Proj> const is_greater{comp, proj};
    auto const at = [&first](std::uint64_t i) -> decltype(auto) { return *detail::cursor_at(first, i); };
    std::pair<std::uint64_t, std::uint64_t> best{lo, lo};
    std::uint64_t i = lo + 1;
    for (; hi - i >= 2; i += 2) {
      bool const falls = is_less(at(i), at(i + 1));
      std::uint64_t const small = falls ? i + 1 : i;
      std::uint64_t const great = falls ? i : i + 1;
      if (is_less(at(best.first), at(small))) best.first = small;
      if (is_greater(at(best.second), at(great))) best.second = great;
    }
    if (i != hi) {
      if (is_less(at(best.first), at(i))) best.first = i;
      if (is_greater(at(best.second), at(i))) best.second = i;
    }
    return best;
  }
}

/// Calls best_of(lo, hi) for pieces of [0, n), n != 0, in parallel unless there is little to do, and then
/// combine(best, next) for the results in their order.
template<bool Numbers, class BestOf, class Combine>
auto best_of_pieces(pool* p, std::uint64_t n, BestOf const& best_of, Combine const& combine) {
  constexpr std::uint64_t most_pieces = 512, few = 64;
  if (n <= (Numbers ? few_numbers : few)) return best_of(0, n);
  std::int64_t const begin = tick_count();
  static_cast<void>(best_of(0, few));
  std::int64_t const took = tick_count() - begin;
  if (!detail::is_worth_sharing(n, few, took)) return best_of(0, n);
  std::uint64_t const size = std::max<std::uint64_t>((n + most_pieces - 1) / most_pieces, Numbers ? 64 : 1);
  std::uint64_t const pieces = (n + size - 1) / size;
  std::array<decltype(best_of(0, n)), most_pieces> found;
  auto const some = [&](std::uint64_t lo, std::uint64_t hi) {
    for (; lo < hi; lo += size) found[lo / size] = best_of(lo, std::min(hi, lo + size));
  };
  if (took > brief_rest_us * ticks_per_us())
    detail::for_blocks(p, n, size, some);
  else
    detail::for_brief_blocks(p, n, size, some);
  for (std::uint64_t i = 1; i != pieces; ++i) combine(found[0], found[i]);
  return found[0];
}

template<extreme Which, class I, class S, class Comp, class Proj>
I extreme_element(pool* p, I first, S last, Comp const& comp, Proj const& proj) {
  contest<Which, Comp, Proj> const replaced{comp, proj};
  if (first == last) return first;
  if constexpr (splittable_from<I, S>) {
    return detail::moved_by(
        first, detail::best_of_pieces<array_of_numbers<I>>(
                   p, detail::length_of(first, last),
                   [&](std::uint64_t lo, std::uint64_t hi) {
                     return detail::extreme_of<Which>(first, lo, hi, comp, proj);
                   },
                   [&](std::uint64_t& best, std::uint64_t next) {
                     if (replaced(*detail::moved_by(first, best), *detail::moved_by(first, next)))
                       best = next;
                   }));
  } else {
    I best = first;
    for (walk w; ++first != last;) {
      w.step();
      if (replaced(*best, *first)) best = first;
    }
    return best;
  }
}

template<class I, class S, class Comp, class Proj>
std::ranges::minmax_element_result<I> extreme_elements(pool* p, I first, S last, Comp const& comp,
                                                       Proj const& proj) {
  contest<extreme::least, Comp, Proj> const is_less{comp, proj};
  contest<extreme::last_greatest, Comp, Proj> const is_greater{comp, proj};
  if (first == last) return {first, first};
  if constexpr (splittable_from<I, S>) {
    using both = std::pair<std::uint64_t, std::uint64_t>;
    both const found = detail::best_of_pieces<array_of_numbers<I>>(
        p, detail::length_of(first, last),
        [&](std::uint64_t lo, std::uint64_t hi) { return detail::both_of(first, lo, hi, comp, proj); },
        [&](both& best, both const& next) {
          if (is_less(*detail::moved_by(first, best.first), *detail::moved_by(first, next.first)))
            best.first = next.first;
          if (is_greater(*detail::moved_by(first, best.second), *detail::moved_by(first, next.second)))
            best.second = next.second;
        });
    return {detail::moved_by(first, found.first), detail::moved_by(first, found.second)};
  } else {
    I least = first, greatest = first;
    for (walk w; ++first != last;) {
      w.step();
      if (is_less(*least, *first)) least = first;
      if (is_greater(*greatest, *first)) greatest = first;
    }
    return {std::move(least), std::move(greatest)};
  }
}

} // namespace rubato::detail
