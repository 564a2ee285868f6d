// Folds: one accumulator per piece of a range, which are merged in the order of the range.
#pragma once

#include "rubato/detail/algorithm/pieces.hpp"
#include "rubato/detail/algorithm/sums/reduction.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// True if f(accumulator, x) leaves its result in the accumulator that it gets by reference.
template<class F, class A, class X>
[[nodiscard]] consteval bool changes_in_place() {
  if constexpr (std::is_invocable_v<F const&, A&, X>) {
    using result = std::invoke_result_t<F const&, A&, X>;
    return std::is_reference_v<result> || !std::is_convertible_v<result, A>;
  } else {
    return false;
  }
}

template<class F, class A, class X>
inline constexpr bool accumulates =
    changes_in_place<F, A, X>() || gives<F const&, A, A, X> || gives<F const&, A, A&, X>;

/// f(a, x) changes a, or returns what is to be in its place.
template<class F, class A, class X>
[[gnu::always_inline]] inline void accumulate_in(F const& f, A& a, X&& x) {
  if constexpr (changes_in_place<F, A, X>())
    static_cast<void>(std::invoke(f, a, std::forward<X>(x)));
  else if constexpr (gives<F const&, A, A, X>)
    a = static_cast<A>(std::invoke(f, std::move(a), std::forward<X>(x)));
  else
    a = static_cast<A>(std::invoke(f, a, std::forward<X>(x)));
}

/// On a cache line of its own: an accumulator changes with each element.
template<class A>
struct apart {
  char other_lines[64]{};
  std::optional<A> accumulator{};
};

template<class I, class A, class Make, class Add>
class folding : public pieces<apart<A>> {
  using base = pieces<apart<A>>;
  I first_;
  Make const& make_;
  Add const& add_;

public:
  folding(thread_context& me, I first, Make const& make, Add const& add)
      : base(me)
      , first_(first)
      , make_(make)
      , add_(add) {}

  void operator()(typename base::cell& c, thread_context&, std::uint64_t lo, std::uint64_t hi) {
    std::optional<A>& kept = c.value.accumulator;
    if (!kept) kept.emplace(std::invoke(make_));
    I i = first_ + static_cast<std::iter_difference_t<I>>(lo);
    if constexpr (is_small<A>) { // in a register
      A here = std::move(*kept);
      for (; lo != hi; ++lo, void(), ++i) detail::accumulate_in(add_, here, *i);
      *kept = std::move(here);
    } else {
      for (; lo != hi; ++lo, void(), ++i) detail::accumulate_in(add_, *kept, *i);
    }
  }

  template<class Merge>
  A result(Merge const& merge_with) {
    std::optional<A> all;
    this->for_each_value([&](apart<A>& next) {
      if (!next.accumulator) return;
      if (!all)
        all.emplace(std::move(*next.accumulator));
      else if constexpr (accumulates<Merge, A, A>)
        detail::accumulate_in(merge_with, *all, std::move(*next.accumulator));
      else
        accumulate_in(merge_with, *all, *next.accumulator);
    });
    return std::move(*all);
  }
};

template<class R, class Make, class Add, class Merge>
[[nodiscard]] consteval bool can_be_folded() {
  constexpr bool make_fits = std::is_invocable_v<Make const&>;
  static_assert(make_fits, "rubato: fold(range, make, add, merge): make must be callable as make()");
  if constexpr (make_fits) {
    using accumulator = std::decay_t<std::invoke_result_t<Make const&>>;
    constexpr bool add_fits = accumulates<Add, accumulator, std::ranges::range_reference_t<R&>>;
    static_assert(add_fits, "rubato: fold(range, make, add, merge): add must be callable as add(accumulator, "
                            "element), where make() returns the accumulator");
    constexpr bool merge_fits =
        accumulates<Merge, accumulator, accumulator> || accumulates<Merge, accumulator, accumulator&>;
    static_assert(merge_fits, "rubato: fold(range, make, add, merge): merge must be callable as "
                              "merge(accumulator, accumulator)");
    return add_fits && merge_fits;
  } else {
    return false;
  }
}

template<class R, class Make, class Add, class Merge>
auto fold_range(pool* p, R& range, Make const& make, Add const& add, Merge const& merge_with) {
  if constexpr (!can_be_folded<R, Make, Add, Merge>()) {
    return refused();
  } else {
    using accumulator = std::decay_t<std::invoke_result_t<Make const&>>;
    if constexpr (splittable<R&>) {
      auto const n = static_cast<std::uint64_t>(std::ranges::size(range));
      if (n == 0) return accumulator(std::invoke(make));
      auto const first = std::ranges::begin(range);
      return detail::on_pool(p, [&](thread_context& me) -> accumulator {
        folding<std::remove_const_t<decltype(first)>, accumulator, Make, Add> body(me, first, make, add);
        detail::run_loop(me, body, n);
        return body.result(merge_with);
      });
    } else {
      accumulator all(std::invoke(make));
      detail::on_this_thread(p, [&](auto throw_if_over) {
        for (auto&& x : range) {
          throw_if_over();
          detail::accumulate_in(add, all, std::forward<decltype(x)>(x));
        }
      });
      return all;
    }
  }
}

} // namespace rubato::detail
