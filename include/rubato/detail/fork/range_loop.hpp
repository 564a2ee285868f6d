// Loops over the elements of a range, and how those of a range that cannot be split are handed out.
// docs/design/loops.md
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/fork/index_loop.hpp"
#include "rubato/detail/sched/pool_access.hpp"
#include "rubato/detail/sched/thread_context.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato::detail {

/// Hands out short chunks under a lock. By design user code runs under this lock: the range's iterator, one
/// thread at a time. Of a forward range it hands out iterators, of an input range the elements, as lvalues if
/// `Lvalues`.
template<class R, bool Lvalues>
class iterator_source {
  static constexpr std::size_t most = 64;
  static constexpr std::int64_t chunk_us = 50; // guarantee H
  static constexpr bool keeps_iterators = std::ranges::forward_range<R&>;
  using iterator = std::ranges::iterator_t<R&>;
  using element = std::ranges::range_value_t<R&>;
  struct item { // a vector of plain bools would pass proxies on
    std::conditional_t<keeps_iterators, iterator, element> kept;
  };

  std::mutex mutex_; // user code runs under it: the iterator's own
  iterator next_;
  std::ranges::sentinel_t<R&> end_;
  bool ended_ = false;

public:
  explicit iterator_source(R& range)
      : next_(std::ranges::begin(range))
      , end_(std::ranges::end(range)) {}

  /// Calls f with one element after the other until none is left for this thread. Throws cancelled if
  /// stopped.
  template<class Stopped, class F>
  void drain(Stopped stopped, F&& f) {
    std::vector<item> chunk;
    for (std::size_t want = 1;;) {
      if (stopped()) throw cancelled();
      chunk.clear();
      pull(chunk, want);
      if (chunk.empty()) return;
      std::int64_t const begin = tick_count();
      try {
        for (item& i : chunk) {
          if constexpr (keeps_iterators)
            f(*i.kept);
          else if constexpr (Lvalues)
            f(i.kept);
          else
            f(std::move(i.kept));
        }
      } catch (...) {
        std::lock_guard const guard(mutex_);
        ended_ = true;
        throw;
      }
      // As in any loop: a begun chunk hides its elements, so a slow element has its own chunk.
      bool const brief = tick_count() - begin < chunk_us * ticks_per_us();
      want = brief ? std::min(want * 2, most) : std::max(std::size_t{1}, want / 2);
    }
  }

private:
  void pull(std::vector<item>& chunk, std::size_t want) {
    std::lock_guard const guard(mutex_);
    for (; want != 0 && !ended_; --want) {
      bool const ended = std::exchange(ended_, true); // remains true if the iterator throws
      if (next_ == end_) return;
      if constexpr (keeps_iterators)
        chunk.push_back({next_});
      else
        chunk.push_back({static_cast<element>(*next_)});
      ++next_;
      ended_ = ended;
    }
  }
};

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
