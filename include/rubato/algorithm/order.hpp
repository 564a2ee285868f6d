// Parallel algorithms that bring the elements of a range into an order, or ask whether they are in one.
//
//   #include <rubato/algorithm/order.hpp>
//
//   #include <cstdio>
//   #include <string>
//   #include <vector>
//
//   struct city {
//     std::string name;
//     int inhabitants;
//   };
//
//   int main() {
//     std::vector<city> cities{{"Bern", 134'000}, {"Chur", 38'000}, {"Thun", 45'000}};
//     rubato::sort(cities, {}, &city::inhabitants);
//     std::printf("%s\n", cities.front().name.c_str()); // -> Chur
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/algorithm/defaulted_forms.hpp"
#include "rubato/detail/algorithm/sort.hpp"
#include "rubato/detail/base/refused.hpp"

#include <functional>
#include <iterator>
#include <ranges>
#include <utility>

namespace rubato {

namespace detail {

struct sort_fn : defaulted_forms<sort_fn> {
  /// Sorts the range as std::ranges::sort does: not stable.
  template<std::ranges::random_access_range R, class Comp = std::ranges::less, class Proj = std::identity>
    requires ordered_by<std::ranges::iterator_t<R>, Comp, Proj>
  static std::ranges::borrowed_iterator_t<R> on(pool* p, R&& range, Comp comp = {}, Proj proj = {}) {
    return on(p, std::ranges::begin(range), std::ranges::end(range), std::move(comp), std::move(proj));
  }
  template<std::random_access_iterator I, std::sentinel_for<I> S, class Comp = std::ranges::less,
           class Proj = std::identity>
    requires ordered_by<I, Comp, Proj>
  static I on(pool* p, I first, S last, Comp comp = {}, Proj proj = {}) {
    I const end = std::ranges::next(first, last);
    sort_range<sort_memory::allowed>(p, first, end, comp, proj);
    return end;
  }

  /// sort(std::in_place, ...): takes no memory.
  template<std::ranges::random_access_range R, class Comp = std::ranges::less, class Proj = std::identity>
    requires ordered_by<std::ranges::iterator_t<R>, Comp, Proj>
  static std::ranges::borrowed_iterator_t<R> on(pool* p, std::in_place_t tag, R&& range, Comp comp = {},
                                                Proj proj = {}) {
    return on(p, tag, std::ranges::begin(range), std::ranges::end(range), std::move(comp), std::move(proj));
  }
  template<std::random_access_iterator I, std::sentinel_for<I> S, class Comp = std::ranges::less,
           class Proj = std::identity>
    requires ordered_by<I, Comp, Proj>
  static I on(pool* p, std::in_place_t /*tag*/, I first, S last, Comp comp = {}, Proj proj = {}) {
    I const end = std::ranges::next(first, last);
    sort_range<sort_memory::none>(p, first, end, comp, proj);
    return end;
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(
        always_false<Other...>,
        "rubato: sort(range, comparator, projection), sort(first, last, comparator, projection), the "
        "last two may be left out; before these a pool, and then std::in_place: the range has random "
        "access, its elements can be moved, and the comparator can be called on a const object");
    return {};
  }
};

} // namespace detail

inline constexpr detail::sort_fn sort{};

} // namespace rubato
