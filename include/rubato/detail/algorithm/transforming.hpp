// Algorithms that write one element of the output for each element of the input, or for none.
#pragma once

#include "rubato/detail/algorithm/elements.hpp"
#include "rubato/detail/algorithm/order/share_out.hpp"
#include "rubato/detail/fork/repeat.hpp"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// Several threads call the callables at once, so all are called as const.
template<class I, class O, class F, class Proj>
concept transforms_to =
    std::weakly_incrementable<O> && std::invocable<Proj const&, std::iter_reference_t<I>> &&
    std::invocable<F const&, std::indirect_result_t<Proj const&, I>> &&
    written_with<O, std::invoke_result_t<F const&, std::indirect_result_t<Proj const&, I>>>;
template<class I, class J, class O, class F, class Proj1, class Proj2>
concept transforms_two_to =
    std::weakly_incrementable<O> && std::invocable<Proj1 const&, std::iter_reference_t<I>> &&
    std::invocable<Proj2 const&, std::iter_reference_t<J>> &&
    std::invocable<F const&, std::indirect_result_t<Proj1 const&, I>,
                   std::indirect_result_t<Proj2 const&, J>> &&
    written_with<O, std::invoke_result_t<F const&, std::indirect_result_t<Proj1 const&, I>,
                                         std::indirect_result_t<Proj2 const&, J>>>;

template<class I, class S, class O, class F, class Proj>
std::ranges::unary_transform_result<I, O> transform_elements(pool* p, I first, S last, O out, F const& f,
                                                             Proj const& proj) {
  if constexpr (splittable_from<I, S> && splittable_output<O>) {
    std::uint64_t const n = detail::length_of(first, last);
    auto const some = [&](std::uint64_t lo, std::uint64_t hi) {
      kept_in_loop<F> g = f;
      kept_in_loop<Proj> q = proj;
      auto i = detail::cursor_at(first, lo);
      auto o = detail::cursor_at(out, lo);
      detail::repeat(hi - lo, [&g, &q, &i, &o] {
        *o = std::invoke(g, std::invoke(q, *i));
        ++i, void(), ++o;
      });
    };
    if (detail::partly_overlap(first, n, out))
      some(0, n);
    else
      share_out<array_of_numbers<I> && array_of_numbers<O>>(p, n, some);
    return {detail::moved_by(first, n), detail::moved_by(out, n)};
  } else {
    for (walk w; first != last; ++first, void(), ++out) {
      w.step();
      *out = std::invoke(f, std::invoke(proj, *first));
    }
    return {std::move(first), std::move(out)};
  }
}

template<class I, class S, class J, class T, class O, class F, class Proj1, class Proj2>
std::ranges::binary_transform_result<I, J, O> transform_two(pool* p, I first1, S last1, J first2, T last2,
                                                            O out, F const& f, Proj1 const& proj1,
                                                            Proj2 const& proj2) {
  if constexpr (splittable_from<I, S> && splittable_from<J, T> && splittable_output<O>) {
    std::uint64_t const n = std::min(detail::length_of(first1, last1), detail::length_of(first2, last2));
    auto const some = [&](std::uint64_t lo, std::uint64_t hi) {
      kept_in_loop<F> g = f;
      kept_in_loop<Proj1> q1 = proj1;
      kept_in_loop<Proj2> q2 = proj2;
      auto i = detail::cursor_at(first1, lo);
      auto j = detail::cursor_at(first2, lo);
      auto o = detail::cursor_at(out, lo);
      detail::repeat(hi - lo, [&g, &q1, &q2, &i, &j, &o] {
        *o = std::invoke(g, std::invoke(q1, *i), std::invoke(q2, *j));
        ++i, void(), ++j, void(), ++o;
      });
    };
    if (detail::partly_overlap(first1, n, out) || detail::partly_overlap(first2, n, out))
      some(0, n);
    else
      share_out<array_of_numbers<I> && array_of_numbers<J> && array_of_numbers<O>>(p, n, some);
    return {detail::moved_by(first1, n), detail::moved_by(first2, n), detail::moved_by(out, n)};
  } else {
    for (walk w; first1 != last1 && first2 != last2; ++first1, ++first2, ++out) {
      w.step();
      *out = std::invoke(f, std::invoke(proj1, *first1), std::invoke(proj2, *first2));
    }
    return {std::move(first1), std::move(first2), std::move(out)};
  }
}

template<class I, class O>
concept copied_to = std::weakly_incrementable<O> && written_with<O, std::iter_reference_t<I>>;
template<class O, class T>
concept filled_with = std::input_or_output_iterator<O> && written_with<O, std::remove_reference_t<T> const&>;
template<class O, class F>
concept generated_by = std::input_or_output_iterator<O> && std::invocable<F const&> &&
                       written_with<O, std::invoke_result_t<F const&>>;

/// Elements of one type that a copy of their bytes copies.
template<class I, class O>
inline constexpr bool copied_as_bytes =
    std::contiguous_iterator<I> && std::contiguous_iterator<O> &&
    std::is_same_v<std::iter_value_t<I>, std::iter_value_t<O>> &&
    std::is_trivially_copyable_v<std::iter_value_t<I>> &&
    std::is_trivially_assignable_v<std::iter_reference_t<O>, std::iter_reference_t<I>> &&
    !std::is_volatile_v<std::remove_reference_t<std::iter_reference_t<I>>> &&
    !std::is_volatile_v<std::remove_reference_t<std::iter_reference_t<O>>>;

template<class I, class S, class O>
std::ranges::copy_result<I, O> copy_elements(pool* p, I first, S last, O out) {
  if constexpr (splittable_from<I, S> && splittable_output<O>) {
    std::uint64_t const n = detail::length_of(first, last);
    auto const some = [&](std::uint64_t lo, std::uint64_t hi) {
      if constexpr (copied_as_bytes<I, O>) {
        if (lo != hi)
          std::memmove(detail::cursor_at(out, lo), detail::cursor_at(first, lo),
                       (hi - lo) * sizeof(std::iter_value_t<I>));
      } else {
        auto i = detail::cursor_at(first, lo);
        auto const end = detail::cursor_at(first, hi);
        for (auto o = detail::cursor_at(out, lo); i != end; ++i, void(), ++o) *o = *i;
      }
    };
    if (detail::partly_overlap(first, n, out))
      some(0, n);
    else
      share_out_bytes(p, n, sizeof(std::iter_value_t<I>), some);
    return {detail::moved_by(first, n), detail::moved_by(out, n)};
  } else {
    for (walk w; first != last; ++first, void(), ++out) {
      w.step();
      *out = *first;
    }
    return {std::move(first), std::move(out)};
  }
}

template<class O, class S, class T>
O fill_elements(pool* p, O first, S last, T const& value) {
  if constexpr (splittable_from<O, S> && splittable_output<O>) {
    std::uint64_t const n = detail::length_of(first, last);
    kept_in_loop<T> kept = value; // it may be one of the elements
    share_out_bytes(p, n, sizeof(std::iter_value_t<O>), [&](std::uint64_t lo, std::uint64_t hi) {
      std::ranges::fill(detail::cursor_at(first, lo), detail::cursor_at(first, hi), kept);
    });
    return detail::moved_by(first, n);
  } else {
    for (walk w; first != last; ++first) {
      w.step();
      *first = value;
    }
    return first;
  }
}

template<class O, class S, class F>
O generate_elements(pool* p, O first, S last, F const& f) {
  if constexpr (splittable_from<O, S> && splittable_output<O>) {
    std::uint64_t const n = detail::length_of(first, last);
    detail::share_out<array_of_numbers<O>>(p, n, [&](std::uint64_t lo, std::uint64_t hi) {
      kept_in_loop<F> g = f;
      auto o = detail::cursor_at(first, lo);
      detail::repeat(hi - lo, [&g, &o] {
        *o = std::invoke(g);
        ++o;
      });
    });
    return detail::moved_by(first, n);
  } else {
    for (walk w; first != last; ++first) {
      w.step();
      *first = std::invoke(f);
    }
    return first;
  }
}

} // namespace rubato::detail
