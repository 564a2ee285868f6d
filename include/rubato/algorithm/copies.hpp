// Parallel algorithms that write elements: those of another range, changed or chosen, or new ones.
//
//   #include <rubato/algorithm/copies.hpp>
//
//   #include <cstdio>
//   #include <vector>
//
//   int main() {
//     std::vector<double> celsius{-40, 0, 100}, fahrenheit(3);
//     rubato::transform(celsius, fahrenheit.begin(), [](double c) { return c * 1.8 + 32; });
//     std::printf("%g %g %g\n", fahrenheit[0], fahrenheit[1], fahrenheit[2]); // -> -40 32 212
//   }
//
// What holds for all of them: docs/algorithms.md.
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/algorithm/defaulted_forms.hpp"
#include "rubato/detail/algorithm/mapping.hpp"
#include "rubato/detail/algorithm/partition/choosing.hpp"
#include "rubato/detail/algorithm/partition/partition.hpp"
#include "rubato/detail/algorithm/partition/remove_in_place.hpp"
#include "rubato/detail/algorithm/search/searching.hpp"
#include "rubato/detail/algorithm/transforming.hpp"
#include "rubato/detail/base/refused.hpp"
#include "rubato/detail/work/callable.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato {

namespace detail {

struct transform_fn : pool_forms<transform_fn> {
  /// Writes f(proj(x)) to the output for each element x of the range, and returns the ends of both, as
  /// std::ranges::transform does. Several threads call f and proj at once, as const, once for each element.
  /// The output may be the range itself. If it begins within the range and is not the same, the calling
  /// thread alone goes through the elements in their order. It does so too if range or output have no random
  /// access, or if the output is a vector<bool>.
  ///
  /// Up to 1,024 numbers in arrays are done at once by the calling thread, without a look at any pool, and
  /// more of them if the first ones show that it takes 10 us at most: for few numbers with much work each use
  /// for_index(). After the first exception, or a stop of the enclosing scope (rubato::cancelled), as
  /// for_index(): an element of the output is as before or written.
  template<std::ranges::input_range R, class O, class F, class Proj = std::identity>
    requires transforms_to<std::ranges::iterator_t<R>, O, F, Proj>
  static std::ranges::unary_transform_result<std::ranges::borrowed_iterator_t<R>, O>
  on(pool* p, R&& range, O out, F f, Proj proj = {}) {
    return detail::transform_elements(p, std::ranges::begin(range), detail::end_of(range), std::move(out), f,
                                      proj);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class O, class F, class Proj = std::identity>
    requires transforms_to<I, O, F, Proj>
  static std::ranges::unary_transform_result<I, O> on(pool* p, I first, S last, O out, F f, Proj proj = {}) {
    return detail::transform_elements(p, std::move(first), std::move(last), std::move(out), f, proj);
  }

  /// transform(range1, range2, out, f, proj1, proj2): writes f(proj1(x), proj2(y)) for the elements at the
  /// same places, up to the end of the shorter range.
  template<std::ranges::input_range R1, std::ranges::input_range R2, class O, class F,
           class Proj1 = std::identity, class Proj2 = std::identity>
    requires transforms_two_to<std::ranges::iterator_t<R1>, std::ranges::iterator_t<R2>, O, F, Proj1, Proj2>
  static std::ranges::binary_transform_result<std::ranges::borrowed_iterator_t<R1>,
                                              std::ranges::borrowed_iterator_t<R2>, O>
  on(pool* p, R1&& range1, R2&& range2, O out, F f, Proj1 proj1 = {}, Proj2 proj2 = {}) {
    return detail::transform_two(p, std::ranges::begin(range1), detail::end_of(range1),
                                 std::ranges::begin(range2), detail::end_of(range2), std::move(out), f, proj1,
                                 proj2);
  }
  template<std::input_iterator I1, std::sentinel_for<I1> S1, std::input_iterator I2, std::sentinel_for<I2> S2,
           class O, class F, class Proj1 = std::identity, class Proj2 = std::identity>
    requires transforms_two_to<I1, I2, O, F, Proj1, Proj2>
  static std::ranges::binary_transform_result<I1, I2, O> on(pool* p, I1 first1, S1 last1, I2 first2, S2 last2,
                                                            O out, F f, Proj1 proj1 = {}, Proj2 proj2 = {}) {
    return detail::transform_two(p, std::move(first1), std::move(last1), std::move(first2), std::move(last2),
                                 std::move(out), f, proj1, proj2);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(
        always_false<Other...>,
        "rubato: transform(range, out, f, projection), transform(range1, range2, out, f, projection1, "
        "projection2), projections may be left out, or pairs of iterators for ranges; before these a pool: "
        "f must be callable on a const object, and its result must be assignable to *out");
    return {};
  }
};

struct copy_fn : pool_forms<copy_fn> {
  /// Copies the elements of the range to the output, and returns the ends of both, as std::ranges::copy does.
  /// An output that begins before the range and overlaps it is allowed in arrays: then the calling thread
  /// alone copies. Up to 128 KB are copied at once, without a look at any pool. Otherwise as transform().
  template<std::ranges::input_range R, class O>
    requires copied_to<std::ranges::iterator_t<R>, O>
  static std::ranges::copy_result<std::ranges::borrowed_iterator_t<R>, O> on(pool* p, R&& range, O out) {
    return detail::copy_elements(p, std::ranges::begin(range), detail::end_of(range), std::move(out));
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class O>
    requires copied_to<I, O>
  static std::ranges::copy_result<I, O> on(pool* p, I first, S last, O out) {
    return detail::copy_elements(p, std::move(first), std::move(last), std::move(out));
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: copy(range, out), copy(first, last, out), each also with a pool first: an element "
                  "must be assignable to *out");
    return {};
  }
};

struct copy_if_fn : pool_forms<copy_if_fn> {
  /// Copies the elements x for which pred(proj(x)) is true to the output, in their order, and returns the
  /// ends of both, as std::ranges::copy_if does. The output must not begin within the range: an assertion
  /// says so for arrays. Several threads call pred and proj at once, as const, once for each element and in
  /// any order. The threads work in rounds and take 1 MB, or, of types with more than 16 bytes, a byte for
  /// each of 524,288 elements. If there is no memory or no second worker, the calling thread goes through the
  /// range alone; it does so too if range or output have no random access, or if the output is
  /// a vector<bool>. Elements of at most 16 bytes that are trivially copyable are chosen without branches,
  /// and a place of the output may be written several times. Up to 1,024 numbers in an array are done at
  /// once, and more if the first ones show that it takes 100 us at most. Otherwise as transform().
  template<std::ranges::input_range R, class O, class Pred, class Proj = std::identity>
    requires copied_to<std::ranges::iterator_t<R>, O> && tested_by<std::ranges::iterator_t<R>, Pred, Proj>
  static std::ranges::copy_if_result<std::ranges::borrowed_iterator_t<R>, O> on(pool* p, R&& range, O out,
                                                                                Pred pred, Proj proj = {}) {
    return detail::copy_chosen(p, std::ranges::begin(range), detail::end_of(range), std::move(out), pred,
                               proj);
  }
  template<std::input_iterator I, std::sentinel_for<I> S, class O, class Pred, class Proj = std::identity>
    requires copied_to<I, O> && tested_by<I, Pred, Proj>
  static std::ranges::copy_if_result<I, O> on(pool* p, I first, S last, O out, Pred pred, Proj proj = {}) {
    return detail::copy_chosen(p, std::move(first), std::move(last), std::move(out), pred, proj);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: copy_if(range, out, pred, projection), copy_if(first, last, out, pred, "
                  "projection), the projection may be left out; before these a pool: pred and projection "
                  "must be callable on const objects, and an element must be assignable to *out");
    return {};
  }
};

struct filter_fn : pool_forms<filter_fn> {
  /// Returns a vector of copies of the elements x for which pred(proj(x)) is true, in their order. It grows
  /// between the rounds, by what the elements so far let expect: its capacity may exceed its size, and its
  /// elements may be moved on the way. Types without a default constructor that does not throw, and bool, are
  /// appended by the calling thread. Otherwise as copy_if().
  template<std::ranges::input_range R, class Pred, class Proj = std::identity>
    requires tested_by<std::ranges::iterator_t<R>, Pred, Proj> &&
             std::constructible_from<std::ranges::range_value_t<R>, std::ranges::range_reference_t<R>>
  static std::vector<std::ranges::range_value_t<R>> on(pool* p, R&& range, Pred pred, Proj proj = {}) {
    return detail::filter_range(p, range, pred, proj);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: filter(range, pred, projection), the projection may be left out; before these a "
                  "pool: pred and projection must be callable on const objects, and the elements must be "
                  "copyable");
    return {};
  }
};

struct map_to_vector_fn : pool_forms<map_to_vector_fn> {
  /// Returns a vector of the results of f(x) for the elements x, in their order. Several threads call f at
  /// once, as const, once for each element. The vector has the type that f returns as its elements, for
  /// a reference std::reference_wrapper, for void std::monostate. They need no default constructor. If they
  /// have one that does not throw, and can be assigned, they are assigned to the elements of a vector that is
  /// complete, numbers and other trivial types (by libstdc++) to its memory before it has elements; others
  /// are made in memory of their own and then moved into the vector by the calling thread. bool takes a byte
  /// each meanwhile. After an exception all results are destroyed. Otherwise as transform().
  template<std::ranges::input_range R, class F>
    requires mapped_by<R, F>
  static auto on(pool* p, R&& range, F f) {
    return detail::map_range(p, range, f);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: map_to_vector(range, f), also with a pool first: f must be callable as f(element) "
                  "on a const object");
    return {};
  }
};

struct fill_fn : pool_forms<fill_fn> {
  /// Assigns the value to each element of the range, and returns its end, as std::ranges::fill does. Up to
  /// 128 KB are filled at once, without a look at any pool. Otherwise as transform().
  template<std::ranges::range R, class T>
    requires filled_with<std::ranges::iterator_t<R>, T>
  static std::ranges::borrowed_iterator_t<R> on(pool* p, R&& range, T&& value) {
    return detail::fill_elements(p, std::ranges::begin(range), detail::end_of(range), value);
  }
  template<class O, std::sentinel_for<O> S, class T>
    requires filled_with<O, T>
  static O on(pool* p, O first, S last, T&& value) {
    return detail::fill_elements(p, std::move(first), std::move(last), value);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: fill(range, value), fill(first, last, value), each also with a pool first: the "
                  "value must be assignable to an element");
    return {};
  }
};

struct generate_fn : pool_forms<generate_fn> {
  /// Assigns the result of f() to each element of the range, and returns its end, as std::ranges::generate
  /// does. Several threads call f at once, as const, in any order, once for each element. So f tells no
  /// elements apart: for values that depend on the place, transform std::views::iota(). Otherwise as
  /// transform().
  template<std::ranges::range R, class F>
    requires generated_by<std::ranges::iterator_t<R>, F>
  static std::ranges::borrowed_iterator_t<R> on(pool* p, R&& range, F f) {
    return detail::generate_elements(p, std::ranges::begin(range), detail::end_of(range), f);
  }
  template<class O, std::sentinel_for<O> S, class F>
    requires generated_by<O, F>
  static O on(pool* p, O first, S last, F f) {
    return detail::generate_elements(p, std::move(first), std::move(last), f);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: generate(range, f), generate(first, last, f), each also with a pool first: f must "
                  "be callable as f() on a const object, and its result must be assignable to an element");
    return {};
  }
};

struct remove_if_fn : pool_forms<remove_if_fn> {
  /// Closes the gaps of the elements for which pred(proj(x)) holds, as std::ranges::remove_if: the others
  /// keep their order. Returns what is to be erased at the end.
  ///
  /// In place; n calls of pred and proj, by several threads at once, as const. If one of them throws, or the
  /// enclosing scope is stopped (rubato::cancelled), each element is in the range once, in unspecified order;
  /// of a trivially copyable type, those that stay are in the range, perhaps twice, and the others may have
  /// been overwritten. The calling thread alone works on up to 1,024 elements, on more if the first ones show
  /// that it takes 10 us at most, on ranges of proxies, and on those without random access. Source: a
  /// compaction without branches by each thread, then the parts close up.
  template<std::ranges::forward_range R, class Pred, class Proj = std::identity>
    requires divisible_by<std::ranges::iterator_t<R>, Pred, Proj>
  static std::ranges::borrowed_subrange_t<R> on(pool* p, R&& range, Pred pred, Proj proj = {}) {
    return detail::remove_elements(p, std::ranges::begin(range), detail::end_of(range), pred, proj);
  }
  template<std::forward_iterator I, std::sentinel_for<I> S, class Pred, class Proj = std::identity>
    requires divisible_by<I, Pred, Proj>
  static std::ranges::subrange<I> on(pool* p, I first, S last, Pred pred, Proj proj = {}) {
    return detail::remove_elements(p, std::move(first), std::move(last), pred, proj);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: remove_if(range, pred, projection), remove_if(first, last, pred, projection), the "
                  "projection may be left out; before these a pool: the range's elements can be moved, and "
                  "pred can be called on a const object");
    return {};
  }
};

struct unique_fn : defaulted_forms<unique_fn, std::ranges::equal_to> {
  /// Of neighbours that are equal leaves the first, as std::ranges::unique: n - 1 calls of comp, which is an
  /// equivalence. Otherwise as remove_if().
  template<std::ranges::forward_range R, class Comp = std::ranges::equal_to, class Proj = std::identity>
    requires neighbours_by<std::ranges::iterator_t<R>, Comp, Proj>
  static std::ranges::borrowed_subrange_t<R> on(pool* p, R&& range, Comp comp = {}, Proj proj = {}) {
    return detail::unique_elements(p, std::ranges::begin(range), detail::end_of(range), comp, proj);
  }
  template<std::forward_iterator I, std::sentinel_for<I> S, class Comp = std::ranges::equal_to,
           class Proj = std::identity>
    requires neighbours_by<I, Comp, Proj>
  static std::ranges::subrange<I> on(pool* p, I first, S last, Comp comp = {}, Proj proj = {}) {
    return detail::unique_elements(p, std::move(first), std::move(last), comp, proj);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(
        always_false<Other...>,
        "rubato: unique(range, comparator, projection), unique(first, last, comparator, projection), "
        "the last two may be left out; before these a pool: the range's elements can be moved, and "
        "the comparator can be called on a const object");
    return {};
  }
};

} // namespace detail

inline constexpr detail::remove_if_fn remove_if{};
inline constexpr detail::unique_fn unique{};
inline constexpr detail::transform_fn transform{};
inline constexpr detail::copy_fn copy{};
inline constexpr detail::copy_if_fn copy_if{};
inline constexpr detail::filter_fn filter{};
inline constexpr detail::map_to_vector_fn map_to_vector{};
inline constexpr detail::fill_fn fill{};
inline constexpr detail::generate_fn generate{};

} // namespace rubato
