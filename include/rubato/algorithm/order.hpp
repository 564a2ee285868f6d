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
#include "rubato/detail/algorithm/elements.hpp"
#include "rubato/detail/algorithm/order/is_sorted.hpp"
#include "rubato/detail/algorithm/order/merge.hpp"
#include "rubato/detail/algorithm/order/nth_element.hpp"
#include "rubato/detail/algorithm/order/sort.hpp"
#include "rubato/detail/algorithm/order/stable_sort.hpp"
#include "rubato/detail/algorithm/partition/partition.hpp"
#include "rubato/detail/algorithm/partition/stable_partition.hpp"
#include "rubato/detail/base/refused.hpp"

#include <functional>
#include <iterator>
#include <ranges>
#include <utility>

namespace rubato {

namespace detail {

struct sort_fn : defaulted_forms<sort_fn> {
  /// sort(range, comparator, projection), sort(first, last, comparator, projection): sorts the elements as
  /// std::ranges::sort does, on the calling thread and every idle worker, and returns the same iterator. The
  /// comparator defaults to std::ranges::less, also as `{}`, and the projection to the identity. Not stable:
  /// equivalent elements end up in any order, which is the same with any number of workers.
  ///
  /// **Comparator.** Several threads call comparator and projection at once, as const objects. Neither is
  /// copied once the sort has begun. If it is no strict weak order, the order of the elements is unspecified,
  /// but each is there once, and nothing outside the range is accessed.
  ///
  /// **Failure.** What a comparator or a move throws arrives when all threads have ended. If the scope around
  /// is stopped, the sort ends early with rubato::cancelled. Each element is there once then, in unspecified
  /// order. Proxies stand for separate objects: several threads write them.
  ///
  /// **Memory.** Sorts in place, and takes no memory, except this: from 65,536 contiguous numbers or
  /// std::strings on, under std::less or std::greater (those of std::ranges too) and without projection, it
  /// takes memory for as many again. If there is none, it sorts in place.
  ///
  /// **Cost.** O(n log n) calls of the comparator in any case; n of them if the elements are sorted or
  /// reversed. Fewer than 2,048 elements are sorted by the caller, which looks up no pool then. The stack
  /// grows by O(log n).
  ///
  /// Source: quicksort with a branch-free partition (O. Peters, pattern-defeating quicksort, 2021; L.
  /// Bergdoll and O. Peters, ipnsort, 2024; S. Edelkamp and A. Weiss, BlockQuicksort, 2016), merge-exchange
  /// networks (K. E. Batcher, 1968), and heapsort as in introsort (D. Musser, 1997).
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
    detail::sort_range<sort_memory::allowed>(p, first, end, comp, proj);
    return end;
  }

  /// sort(std::in_place, ...): takes no memory, whatever the elements are.
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
    detail::sort_range<sort_memory::none>(p, first, end, comp, proj);
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

struct stable_sort_fn : defaulted_forms<stable_sort_fn> {
  /// Sorts the range as std::ranges::stable_sort does: equal elements keep their order. Returns its end.
  ///
  /// Takes memory for n elements; without it, the sort is in place and takes O(n log^2 n). The comparator and
  /// the projection are called from several threads at once, as const, and not copied. If one of them throws,
  /// or the enclosing scope is stopped (rubato::cancelled), each element is in the range once, in unspecified
  /// order. A comparator that is no strict weak order makes the order unspecified, and nothing else. The
  /// calling thread alone sorts fewer than 2,048 elements, and ranges of proxies.
  ///
  /// O(n log n) comparisons; n - 1 if the range is sorted, or strictly sorted the other way round. Integers
  /// and strings under the default order are sorted as by sort(): equal ones are alike. Source: merge sort by
  /// joins, whose merges are cut and joined too (R. Cole, 1988; Odeh et al., Merge Path, 2012),
  /// with merges from both ends at once without branches (quadsort, I. van den Hoven, 2020).
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
    detail::stable_sort_range(p, first, end, comp, proj);
    return end;
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: stable_sort(range, comparator, projection), stable_sort(first, last, comparator, "
                  "projection), the last two may be left out; before these a pool: the range has random "
                  "access, its elements can be moved, and the comparator can be called on a const object");
    return {};
  }
};

struct nth_element_fn : defaulted_forms<nth_element_fn> {
  /// Brings the element to `nth` that a sort would bring there, and those that go before it to before it, as
  /// std::ranges::nth_element. Returns the end. Where the other elements go depends on the range alone.
  ///
  /// In place; O(n) comparisons in the worst case, some 1.6 n for random elements. Comparator, projection,
  /// exceptions and stops as in stable_sort. The calling thread alone works on fewer than 2,048 elements, and
  /// on ranges of proxies. Source: R. Floyd and R. Rivest, Algorithm 489 (1975), on partitions without
  /// branches (S. Edelkamp and A. Weiss, BlockQuicksort, ESA 2016); in the worst case the median of medians
  /// (M. Blum et al., 1973).
  template<std::ranges::random_access_range R, class Comp = std::ranges::less, class Proj = std::identity>
    requires ordered_by<std::ranges::iterator_t<R>, Comp, Proj>
  static std::ranges::borrowed_iterator_t<R> on(pool* p, R&& range, std::ranges::iterator_t<R> nth,
                                                Comp comp = {}, Proj proj = {}) {
    return on(p, std::ranges::begin(range), std::move(nth), std::ranges::end(range), std::move(comp),
              std::move(proj));
  }
  template<std::random_access_iterator I, std::sentinel_for<I> S, class Comp = std::ranges::less,
           class Proj = std::identity>
    requires ordered_by<I, Comp, Proj>
  static I on(pool* p, I first, I nth, S last, Comp comp = {}, Proj proj = {}) {
    I const end = std::ranges::next(first, last);
    detail::nth_element_range(p, first, nth, end, comp, proj);
    return end;
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: nth_element(range, nth, comparator, projection), nth_element(first, nth, last, "
                  "comparator, projection), the last two may be left out; before these a pool: the range has "
                  "random access, its elements can be moved, and the comparator can be called on a const "
                  "object");
    return {};
  }
};

struct merge_fn : defaulted_forms<merge_fn> {
  /// Merges two sorted ranges into `out`, as std::ranges::merge: stable, elements of the first range before
  /// equal ones of the second. The output overlaps neither range. Returns the three ends.
  ///
  /// No memory; n + m - 1 comparisons, and O(log n) more for each 8,192 elements. Comparator and projections
  /// as in stable_sort; after an exception or a stop, which elements of the output are assigned is
  /// unspecified. The calling thread alone merges fewer than 2,048 elements, ranges without random access or
  /// size, and what goes to an iterator without random access or to proxies. Source: Odeh et al., Merge Path
  /// (2012).
  template<std::ranges::input_range R1, std::ranges::input_range R2, std::weakly_incrementable O,
           class Comp = std::ranges::less, class Proj1 = std::identity, class Proj2 = std::identity>
    requires mergeable_by<std::ranges::iterator_t<R1>, std::ranges::iterator_t<R2>, O, Comp, Proj1, Proj2>
  static std::ranges::merge_result<std::ranges::borrowed_iterator_t<R1>, std::ranges::borrowed_iterator_t<R2>,
                                   O>
  on(pool* p, R1&& r1, R2&& r2, O out, Comp comp = {}, Proj1 proj1 = {}, Proj2 proj2 = {}) {
    auto ends = detail::merge_ranges(p, std::ranges::begin(r1), detail::end_of(r1), std::ranges::begin(r2),
                                     detail::end_of(r2), std::move(out), comp, proj1, proj2);
    return {std::move(ends.in1), std::move(ends.in2), std::move(ends.out)};
  }
  template<std::input_iterator I1, std::sentinel_for<I1> S1, std::input_iterator I2, std::sentinel_for<I2> S2,
           std::weakly_incrementable O, class Comp = std::ranges::less, class Proj1 = std::identity,
           class Proj2 = std::identity>
    requires mergeable_by<I1, I2, O, Comp, Proj1, Proj2>
  static std::ranges::merge_result<I1, I2, O> on(pool* p, I1 first1, S1 last1, I2 first2, S2 last2, O out,
                                                 Comp comp = {}, Proj1 proj1 = {}, Proj2 proj2 = {}) {
    return detail::merge_ranges(p, std::move(first1), std::move(last1), std::move(first2), std::move(last2),
                                std::move(out), comp, proj1, proj2);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: merge(range1, range2, out, comparator, projection1, projection2), merge(first1, "
                  "last1, first2, last2, out, comparator, projection1, projection2), the last three may be "
                  "left out; before these a pool: `out` takes copies of the elements, and the comparator can "
                  "be called on a const object");
    return {};
  }
};

struct partition_fn : pool_forms<partition_fn> {
  /// Brings the elements for which pred(proj(x)) holds before the others, as std::ranges::partition. Returns
  /// the others. Where the elements of either group go depends on the range alone.
  ///
  /// In place; n calls of the predicate. Predicate, projection, exceptions and stops as in stable_sort. The
  /// calling thread alone works on fewer than 2,048 elements, on ranges of proxies, and on those without
  /// random access. Source: S. Edelkamp and A. Weiss, BlockQuicksort (ESA 2016); in parallel P. Tsigas and
  /// Y. Zhang (2003), with blocks that are fixed in advance.
  template<std::ranges::forward_range R, class Pred, class Proj = std::identity>
    requires divisible_by<std::ranges::iterator_t<R>, Pred, Proj>
  static std::ranges::borrowed_subrange_t<R> on(pool* p, R&& range, Pred pred, Proj proj = {}) {
    return on(p, std::ranges::begin(range), std::ranges::end(range), std::move(pred), std::move(proj));
  }
  template<std::forward_iterator I, std::sentinel_for<I> S, class Pred, class Proj = std::identity>
    requires divisible_by<I, Pred, Proj>
  static std::ranges::subrange<I> on(pool* p, I first, S last, Pred pred, Proj proj = {}) {
    I const end = std::ranges::next(first, last);
    return {detail::partition_range(p, std::move(first), end, pred, proj), end};
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: partition(range, pred, projection), partition(first, last, pred, projection), the "
                  "projection may be left out; before these a pool: the range's elements can be moved, and "
                  "pred can be called on a const object");
    return {};
  }
};

struct stable_partition_fn : pool_forms<stable_partition_fn> {
  /// As partition(), but the elements of both groups keep their order: std::ranges::stable_partition. Takes
  /// memory for n elements; without it, and for ranges without random access, the calling thread works in
  /// place, with O(n log n) moves.
  template<std::ranges::bidirectional_range R, class Pred, class Proj = std::identity>
    requires divisible_by<std::ranges::iterator_t<R>, Pred, Proj>
  static std::ranges::borrowed_subrange_t<R> on(pool* p, R&& range, Pred pred, Proj proj = {}) {
    return on(p, std::ranges::begin(range), std::ranges::end(range), std::move(pred), std::move(proj));
  }
  template<std::bidirectional_iterator I, std::sentinel_for<I> S, class Pred, class Proj = std::identity>
    requires divisible_by<I, Pred, Proj>
  static std::ranges::subrange<I> on(pool* p, I first, S last, Pred pred, Proj proj = {}) {
    I const end = std::ranges::next(first, last);
    return {detail::stable_partition_range(p, std::move(first), end, pred, proj), end};
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: stable_partition(range, pred, projection), stable_partition(first, last, pred, "
                  "projection), the projection may be left out; before these a pool: the range goes both "
                  "ways, its elements can be moved, and pred can be called on a const object");
    return {};
  }
};

struct is_sorted_fn : defaulted_forms<is_sorted_fn> {
  /// is_sorted(range, comparator, projection), is_sorted(first, last, comparator, projection): true if no
  /// element is less than the one before it, as std::ranges::is_sorted. Several threads call comparator and
  /// projection at once, as const objects. They stop soon after one has found an answer. The calling thread
  /// alone compares fewer than 4,096 elements, and those of a range without random access.
  template<std::ranges::forward_range R, class Comp = std::ranges::less, class Proj = std::identity>
    requires comparable_by<std::ranges::iterator_t<R>, Comp, Proj>
  static bool on(pool* p, R&& range, Comp comp = {}, Proj proj = {}) {
    return detail::are_sorted(p, std::ranges::begin(range), std::ranges::end(range), comp, proj);
  }
  template<std::forward_iterator I, std::sentinel_for<I> S, class Comp = std::ranges::less,
           class Proj = std::identity>
    requires comparable_by<I, Comp, Proj>
  static bool on(pool* p, I first, S last, Comp comp = {}, Proj proj = {}) {
    return detail::are_sorted(p, std::move(first), std::move(last), comp, proj);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(
        always_false<Other...>,
        "rubato: is_sorted(range, comparator, projection), is_sorted(first, last, comparator, "
        "projection), the last two may be left out, each also with a pool first: the elements can be "
        "read more than once, and the comparator can be called on a const object");
    return {};
  }
};

} // namespace detail

inline constexpr detail::sort_fn sort{};
inline constexpr detail::stable_sort_fn stable_sort{};
inline constexpr detail::nth_element_fn nth_element{};
inline constexpr detail::merge_fn merge{};
inline constexpr detail::partition_fn partition{};
inline constexpr detail::stable_partition_fn stable_partition{};
inline constexpr detail::is_sorted_fn is_sorted{};

} // namespace rubato
