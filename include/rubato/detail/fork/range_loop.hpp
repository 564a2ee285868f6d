// Loops over the elements of a range.
#pragma once

#include "rubato/detail/fork/index_loop.hpp"
#include "rubato/detail/fork/iterator_source.hpp"
#include "rubato/detail/sched/pool_access.hpp"

#include <algorithm>
#include <cstdint>
#include <ranges>
#include <utility>

namespace rubato::detail {

template<class R>
concept splittable = std::ranges::random_access_range<R> && std::ranges::sized_range<R>;

// An element of an input range is passed as an lvalue if f accepts one.
template<class R, class F>
inline constexpr bool takes_lvalues = fits<F&, std::ranges::range_value_t<R&>&>;
template<class R, class F>
inline constexpr bool fits_elements =
    std::ranges::forward_range<R&> ? fits<F&, std::ranges::range_reference_t<R&>>
                                   : takes_lvalues<R, F> || fits<F&, std::ranges::range_value_t<R&>>;

template<class R, class F>
void loop_over(pool* p, R& range, F& f) {
  if constexpr (splittable<R&>) {
    auto const first = std::ranges::begin(range);
    using difference = std::ranges::range_difference_t<R&>;
    for_chunks(p, static_cast<std::uint64_t>(std::ranges::size(range)),
               [&f, first](thread_context& me, std::uint64_t lo, std::uint64_t hi) {
                 auto i = first + static_cast<difference>(lo);
                 for (; lo != hi; ++lo, ++i) static_cast<void>(call_and_wait(me, f, *i));
               });
  } else {
    iterator_source<R, takes_lvalues<R, F>> source(range);
    auto const pull_all = [&source, &f](thread_context& me) {
      stop_around const stop(me);
      source.drain([&stop] { return stop.stopped(); },
                   [&](auto&& element) {
                     static_cast<void>(call_and_wait(me, f, std::forward<decltype(element)>(element)));
                   });
    };
    thread_context& me = *current;
    // One share per worker; a late worker finds its share empty.
    unsigned const shares = std::max(1U, size_of(*core_of(pool_or_current(p))));
    if (me.core == nullptr || p != nullptr || shares > 1)
      for_chunks(p, shares, [&](thread_context& m, std::uint64_t lo, std::uint64_t hi) {
        for (; lo != hi; ++lo) pull_all(m);
      });
    else
      pull_all(me);
  }
}

template<class R, class F>
void call_for_each(pool* p, R& range, F& f) {
  static_assert(fits_elements<R, F>, "rubato: for_each(range, f): f must be callable as f(element)");
  if constexpr (fits_elements<R, F>) loop_over(p, range, f);
}

} // namespace rubato::detail
