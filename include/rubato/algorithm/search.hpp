// Parallel algorithms that look for elements, compare ranges and count.
//
//   #include <rubato/algorithm/search.hpp>
//
//   #include <cstdio>
//   #include <string>
//   #include <vector>
//
//   int main() {
//     std::vector<std::string> words{"so", "it", "goes", "on", "and", "on"};
//     auto const first = rubato::find(words, "on");
//     std::printf("%d\n", static_cast<int>(first - words.begin()));           // -> 3
//     std::printf("%d\n", static_cast<int>(rubato::count(words, "on")));      // -> 2
//     std::printf("%s\n", rubato::max_element(words, {}, &std::string::size)->c_str()); // -> goes
//   }
//
// What holds for all of them: docs/algorithms.md.
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/algorithm/defaulted_forms.hpp"
#include "rubato/detail/algorithm/search/extremes.hpp"
#include "rubato/detail/algorithm/search/searching.hpp"
#include "rubato/detail/base/refused.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <ranges>
#include <utility>

namespace rubato {

namespace detail {

struct find_if_fn : pool_forms<find_if_fn> {
  /// Returns the first element x for which pred(proj(x)) is true, else the end, as std::ranges::find_if does:
  /// the first one, however many threads search. They take blocks in the order of the range, of at most
  /// 32,768 elements, and none behind a match. So at most two blocks for each worker behind the match are
  /// tested in vain. Several threads call pred and proj at once, as const.
  ///
  /// The caller looks at the first 64 elements alone, without a look at any pool, and at more while they are
  /// brief: at 1,024 numbers in an array. Numbers in arrays are tested in blocks of 128, which the compiler
  /// may vectorise. So pred may be called for up to 127 of them behind the match, and twice for those of one
  /// block.
  ///
  /// If pred throws, the exception is thrown, unless there is a match before the element: as if one thread
  /// had gone through the range. If the enclosing scope is stopped: rubato::cancelled. A range without random
  /// access is searched by the calling thread alone.
  template<std::ranges::input_range R, class Pred, class Proj = std::identity>
    requires tested_by<std::ranges::iterator_t<R>, Pred, Proj>
  static std::ranges::borrowed_iterator_t<R> on(pool* p, R&& range, Pred pred, Proj proj = {}) {
    return detail::find_element(p, std::ranges::begin(range), detail::end_of(range), pred, proj);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class Pred, class Proj = std::identity>
    requires tested_by<I, Pred, Proj>
  static I on(pool* p, I first, S last, Pred pred, Proj proj = {}) {
    return detail::find_element(p, std::move(first), std::move(last), pred, proj);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: find_if(range, pred, projection) or find_if(first, last, pred, projection), the "
                  "projection may be left out; before these a pool: pred and projection must be callable on "
                  "const objects, and pred's result must be a bool");
    return {};
  }
};

struct find_fn : pool_forms<find_fn> {
  /// Returns the first element x for which proj(x) == value, else the end. As find_if().
  template<std::ranges::input_range R, class T, class Proj = std::identity>
    requires compared_with<std::ranges::iterator_t<R>, T, Proj>
  static std::ranges::borrowed_iterator_t<R> on(pool* p, R&& range, T&& value, Proj proj = {}) {
    return detail::find_element(p, std::ranges::begin(range), detail::end_of(range),
                                detail::equal_to_value(value), proj);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class T, class Proj = std::identity>
    requires compared_with<I, T, Proj>
  static I on(pool* p, I first, S last, T&& value, Proj proj = {}) {
    return detail::find_element(p, std::move(first), std::move(last), detail::equal_to_value(value), proj);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: find(range, value, projection) or find(first, last, value, projection), the "
                  "projection may be left out; before these a pool: the elements must be comparable with the "
                  "value by ==");
    return {};
  }
};

struct any_of_fn : pool_forms<any_of_fn> {
  /// True if pred(proj(x)) is true for an element x. As find_if().
  template<std::ranges::input_range R, class Pred, class Proj = std::identity>
    requires tested_by<std::ranges::iterator_t<R>, Pred, Proj>
  static bool on(pool* p, R&& range, Pred pred, Proj proj = {}) {
    return detail::has_element(p, std::ranges::begin(range), detail::end_of(range), pred, proj);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class Pred, class Proj = std::identity>
    requires tested_by<I, Pred, Proj>
  static bool on(pool* p, I first, S last, Pred pred, Proj proj = {}) {
    return detail::has_element(p, std::move(first), std::move(last), pred, proj);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: any_of(range, pred, projection) or any_of(first, last, pred, projection), the "
                  "projection may be left out; before these a pool: pred and projection must be callable on "
                  "const objects, and pred's result must be a bool");
    return {};
  }
};

struct all_of_fn : pool_forms<all_of_fn> {
  /// True if pred(proj(x)) is true for each element x. As find_if().
  template<std::ranges::input_range R, class Pred, class Proj = std::identity>
    requires tested_by<std::ranges::iterator_t<R>, Pred, Proj>
  static bool on(pool* p, R&& range, Pred pred, Proj proj = {}) {
    return !detail::has_element(p, std::ranges::begin(range), detail::end_of(range), opposite<Pred>{pred},
                                proj);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class Pred, class Proj = std::identity>
    requires tested_by<I, Pred, Proj>
  static bool on(pool* p, I first, S last, Pred pred, Proj proj = {}) {
    return !detail::has_element(p, std::move(first), std::move(last), opposite<Pred>{pred}, proj);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: all_of(range, pred, projection) or all_of(first, last, pred, projection), the "
                  "projection may be left out; before these a pool: pred and projection must be callable on "
                  "const objects, and pred's result must be a bool");
    return {};
  }
};

struct none_of_fn : pool_forms<none_of_fn> {
  /// True if pred(proj(x)) is true for no element x. As find_if().
  template<std::ranges::input_range R, class Pred, class Proj = std::identity>
    requires tested_by<std::ranges::iterator_t<R>, Pred, Proj>
  static bool on(pool* p, R&& range, Pred pred, Proj proj = {}) {
    return !detail::has_element(p, std::ranges::begin(range), detail::end_of(range), pred, proj);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class Pred, class Proj = std::identity>
    requires tested_by<I, Pred, Proj>
  static bool on(pool* p, I first, S last, Pred pred, Proj proj = {}) {
    return !detail::has_element(p, std::move(first), std::move(last), pred, proj);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: none_of(range, pred, projection) or none_of(first, last, pred, projection), the "
                  "projection may be left out; before these a pool: pred and projection must be callable on "
                  "const objects, and pred's result must be a bool");
    return {};
  }
};

struct count_if_fn : pool_forms<count_if_fn> {
  /// Returns for how many elements x pred(proj(x)) is true, as std::ranges::count_if does. Several threads
  /// call pred and proj at once, as const, once for each element. Up to 1,024 numbers in an array are counted
  /// at once by the calling thread, without a look at any pool, and more of them if the first ones show that
  /// it takes 10 us at most. After an exception or a stop as for_index().
  template<std::ranges::input_range R, class Pred, class Proj = std::identity>
    requires tested_by<std::ranges::iterator_t<R>, Pred, Proj>
  static std::ranges::range_difference_t<R> on(pool* p, R&& range, Pred pred, Proj proj = {}) {
    return detail::count_elements(p, std::ranges::begin(range), detail::end_of(range), pred, proj);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class Pred, class Proj = std::identity>
    requires tested_by<I, Pred, Proj>
  static std::iter_difference_t<I> on(pool* p, I first, S last, Pred pred, Proj proj = {}) {
    return detail::count_elements(p, std::move(first), std::move(last), pred, proj);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: count_if(range, pred, projection) or count_if(first, last, pred, projection), the "
                  "projection may be left out; before these a pool: pred and projection must be callable on "
                  "const objects, and pred's result must be a bool");
    return {};
  }
};

struct count_fn : pool_forms<count_fn> {
  /// Returns for how many elements x proj(x) == value. As count_if().
  template<std::ranges::input_range R, class T, class Proj = std::identity>
    requires compared_with<std::ranges::iterator_t<R>, T, Proj>
  static std::ranges::range_difference_t<R> on(pool* p, R&& range, T&& value, Proj proj = {}) {
    return detail::count_elements(p, std::ranges::begin(range), detail::end_of(range),
                                  detail::equal_to_value(value), proj);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class T, class Proj = std::identity>
    requires compared_with<I, T, Proj>
  static std::iter_difference_t<I> on(pool* p, I first, S last, T&& value, Proj proj = {}) {
    return detail::count_elements(p, std::move(first), std::move(last), detail::equal_to_value(value), proj);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: count(range, value, projection) or count(first, last, value, projection), the "
                  "projection may be left out; before these a pool: the elements must be comparable with the "
                  "value by ==");
    return {};
  }
};

struct mismatch_fn : defaulted_forms<mismatch_fn, std::ranges::equal_to> {
  /// Returns the first place at which pred(proj1(x), proj2(y)) is false, or the place at which the shorter
  /// range ends, as std::ranges::mismatch does. As find_if().
  template<std::ranges::input_range R1, std::ranges::input_range R2, class Pred = std::ranges::equal_to,
           class Proj1 = std::identity, class Proj2 = std::identity>
    requires compared_by<std::ranges::iterator_t<R1>, std::ranges::iterator_t<R2>, Pred, Proj1, Proj2>
  static std::ranges::mismatch_result<std::ranges::borrowed_iterator_t<R1>,
                                      std::ranges::borrowed_iterator_t<R2>>
  on(pool* p, R1&& range1, R2&& range2, Pred pred = {}, Proj1 proj1 = {}, Proj2 proj2 = {}) {
    return detail::mismatch_of(p, std::ranges::begin(range1), detail::end_of(range1),
                               std::ranges::begin(range2), detail::end_of(range2), pred, proj1, proj2);
  }
  template<std::input_iterator I1, std::sentinel_for<I1> S1, std::input_iterator I2, std::sentinel_for<I2> S2,
           class Pred = std::ranges::equal_to, class Proj1 = std::identity, class Proj2 = std::identity>
    requires compared_by<I1, I2, Pred, Proj1, Proj2>
  static std::ranges::mismatch_result<I1, I2> on(pool* p, I1 first1, S1 last1, I2 first2, S2 last2,
                                                 Pred pred = {}, Proj1 proj1 = {}, Proj2 proj2 = {}) {
    return detail::mismatch_of(p, std::move(first1), std::move(last1), std::move(first2), std::move(last2),
                               pred, proj1, proj2);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: mismatch(range1, range2, pred, projection1, projection2), the last three may be "
                  "left out, or pairs of iterators for ranges; before these a pool: pred and projections "
                  "must be callable on const objects, and pred's result must be a bool");
    return {};
  }
};

struct equal_fn : defaulted_forms<equal_fn, std::ranges::equal_to> {
  /// True if the ranges are equally long and pred(proj1(x), proj2(y)) is true for all elements at the same
  /// places, as std::ranges::equal does. If the ranges know their lengths and these differ, no element is
  /// looked at. As find_if().
  template<std::ranges::input_range R1, std::ranges::input_range R2, class Pred = std::ranges::equal_to,
           class Proj1 = std::identity, class Proj2 = std::identity>
    requires compared_by<std::ranges::iterator_t<R1>, std::ranges::iterator_t<R2>, Pred, Proj1, Proj2>
  static bool on(pool* p, R1&& range1, R2&& range2, Pred pred = {}, Proj1 proj1 = {}, Proj2 proj2 = {}) {
    if (detail::differ_in_length(range1, range2)) return false;
    return detail::equal_elements(p, std::ranges::begin(range1), detail::end_of(range1),
                                  std::ranges::begin(range2), detail::end_of(range2), pred, proj1, proj2);
  }
  template<std::input_iterator I1, std::sentinel_for<I1> S1, std::input_iterator I2, std::sentinel_for<I2> S2,
           class Pred = std::ranges::equal_to, class Proj1 = std::identity, class Proj2 = std::identity>
    requires compared_by<I1, I2, Pred, Proj1, Proj2>
  static bool on(pool* p, I1 first1, S1 last1, I2 first2, S2 last2, Pred pred = {}, Proj1 proj1 = {},
                 Proj2 proj2 = {}) {
    return detail::equal_elements(p, std::move(first1), std::move(last1), std::move(first2), std::move(last2),
                                  pred, proj1, proj2);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: equal(range1, range2, pred, projection1, projection2), the last three may be left "
                  "out, or pairs of iterators for ranges; before these a pool: pred and projections must be "
                  "callable on const objects, and pred's result must be a bool");
    return {};
  }
};

struct min_element_fn : defaulted_forms<min_element_fn> {
  /// Returns the first of the least elements, as std::ranges::min_element does, or the end of an empty range.
  /// Several threads call comp and proj at once, as const: comp at most n + 600 times. Of numbers in an array
  /// under < or > each thread first looks for the least value, which vectorises, and then for its place.
  /// Numbers with NaNs among them have no such order: the result is then one of the elements. Up to 1,024
  /// numbers in an array are done at once by the calling thread, without a look at any pool, and more of them
  /// if the first ones show that it takes 10 us at most. After an exception or a stop as for_index().
  template<std::ranges::forward_range R, class Comp = std::ranges::less, class Proj = std::identity>
    requires weakly_ordered_by<std::ranges::iterator_t<R>, Comp, Proj>
  static std::ranges::borrowed_iterator_t<R> on(pool* p, R&& range, Comp comp = {}, Proj proj = {}) {
    return detail::extreme_element<extreme::least>(p, std::ranges::begin(range), detail::end_of(range), comp,
                                                   proj);
  }
  template<std::forward_iterator I, std::sentinel_for<I> S, class Comp = std::ranges::less,
           class Proj = std::identity>
    requires weakly_ordered_by<I, Comp, Proj>
  static I on(pool* p, I first, S last, Comp comp = {}, Proj proj = {}) {
    return detail::extreme_element<extreme::least>(p, std::move(first), std::move(last), comp, proj);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: min_element(range, comparator, projection) or min_element(first, last, "
                  "comparator, projection), the last two may be left out; before these a pool: comparator "
                  "and projection must be callable on const objects");
    return {};
  }
};

struct max_element_fn : defaulted_forms<max_element_fn> {
  /// Returns the first of the greatest elements, as std::ranges::max_element does. As min_element().
  template<std::ranges::forward_range R, class Comp = std::ranges::less, class Proj = std::identity>
    requires weakly_ordered_by<std::ranges::iterator_t<R>, Comp, Proj>
  static std::ranges::borrowed_iterator_t<R> on(pool* p, R&& range, Comp comp = {}, Proj proj = {}) {
    return detail::extreme_element<extreme::greatest>(p, std::ranges::begin(range), detail::end_of(range),
                                                      comp, proj);
  }
  template<std::forward_iterator I, std::sentinel_for<I> S, class Comp = std::ranges::less,
           class Proj = std::identity>
    requires weakly_ordered_by<I, Comp, Proj>
  static I on(pool* p, I first, S last, Comp comp = {}, Proj proj = {}) {
    return detail::extreme_element<extreme::greatest>(p, std::move(first), std::move(last), comp, proj);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: max_element(range, comparator, projection) or max_element(first, last, "
                  "comparator, projection), the last two may be left out; before these a pool: comparator "
                  "and projection must be callable on const objects");
    return {};
  }
};

struct minmax_element_fn : defaulted_forms<minmax_element_fn> {
  /// Returns the first of the least elements and the last of the greatest ones, as
  /// std::ranges::minmax_element does. comp is called at most 1.5 n + 1,200 times. Otherwise as
  /// min_element().
  template<std::ranges::forward_range R, class Comp = std::ranges::less, class Proj = std::identity>
    requires weakly_ordered_by<std::ranges::iterator_t<R>, Comp, Proj>
  static std::ranges::minmax_element_result<std::ranges::borrowed_iterator_t<R>>
  on(pool* p, R&& range, Comp comp = {}, Proj proj = {}) {
    return detail::extreme_elements(p, std::ranges::begin(range), detail::end_of(range), comp, proj);
  }
  template<std::forward_iterator I, std::sentinel_for<I> S, class Comp = std::ranges::less,
           class Proj = std::identity>
    requires weakly_ordered_by<I, Comp, Proj>
  static std::ranges::minmax_element_result<I> on(pool* p, I first, S last, Comp comp = {}, Proj proj = {}) {
    return detail::extreme_elements(p, std::move(first), std::move(last), comp, proj);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: minmax_element(range, comparator, projection) or minmax_element(first, last, "
                  "comparator, projection), the last two may be left out; before these a pool: comparator "
                  "and projection must be callable on const objects");
    return {};
  }
};

} // namespace detail

inline constexpr detail::find_if_fn find_if{};
inline constexpr detail::find_fn find{};
inline constexpr detail::any_of_fn any_of{};
inline constexpr detail::all_of_fn all_of{};
inline constexpr detail::none_of_fn none_of{};
inline constexpr detail::count_if_fn count_if{};
inline constexpr detail::count_fn count{};
inline constexpr detail::mismatch_fn mismatch{};
inline constexpr detail::equal_fn equal{};
inline constexpr detail::min_element_fn min_element{};
inline constexpr detail::max_element_fn max_element{};
inline constexpr detail::minmax_element_fn minmax_element{};

} // namespace rubato
