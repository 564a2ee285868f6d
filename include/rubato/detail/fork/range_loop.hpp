// Loops over the elements of a range, and how those of a range that cannot be split are handed out.
// docs/design/loops.md
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/fork/index_loop.hpp"
#include "rubato/detail/fork/repeat.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <mutex>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato::detail {

/// The iterators of a forward range of known size.
template<class R>
class counted_iterators {
  std::ranges::iterator_t<R&> next_;
  std::size_t left_;

public:
  explicit counted_iterators(R& range)
      : next_(std::ranges::begin(range))
      , left_(static_cast<std::size_t>(std::ranges::size(range))) {}

  [[nodiscard]] std::size_t known(std::size_t /*enough*/) const noexcept { return left_; }
  void give(std::size_t n, std::vector<std::ranges::iterator_t<R&>>& chunk) {
    chunk.clear();
    std::size_t const left = std::exchange(left_, 0); // remains 0 if the iterator throws
    for (std::size_t i = 0; i != n; ++i, void(), ++next_) chunk.push_back(next_);
    left_ = left - n;
  }
  void end() noexcept { left_ = 0; }
};

/// Those of any other forward range. It reads ahead of what it gives: only so it learns how many are left.
template<class R>
class read_ahead_iterators {
  std::ranges::iterator_t<R&> next_;
  std::ranges::sentinel_t<R&> end_;
  std::vector<std::ranges::iterator_t<R&>> ahead_;
  std::ptrdiff_t given_ = 0; // of these, from the front
  bool ended_ = false;       // nothing is read any more

public:
  explicit read_ahead_iterators(R& range)
      : next_(std::ranges::begin(range))
      , end_(std::ranges::end(range)) {}

  /// All that are left, or at least `enough`.
  [[nodiscard]] std::size_t known(std::size_t enough) {
    if (left() >= enough || ended_) return left();
    constexpr std::size_t many = 256; // `enough` may be far more than the range has
    ahead_.erase(ahead_.begin(), ahead_.begin() + std::exchange(given_, 0));
    ahead_.reserve(std::min(2 * enough, many));
    for (ended_ = true; ahead_.size() < 2 * enough; ++next_) { // remains true if the iterator throws
      if (next_ == end_) return left();
      ahead_.push_back(next_);
    }
    ended_ = false;
    return left();
  }
  /// The next n, of those that are known.
  void give(std::size_t n, std::vector<std::ranges::iterator_t<R&>>& chunk) {
    if (given_ == 0 && n == ahead_.size()) {
      chunk.clear();
      chunk.swap(ahead_);
      return;
    }
    auto const first = ahead_.begin() + given_;
    given_ += static_cast<std::ptrdiff_t>(n);
    chunk.assign(first, ahead_.begin() + given_);
  }
  void end() noexcept {
    ended_ = true;
    given_ = std::ssize(ahead_);
  }

private:
  [[nodiscard]] std::size_t left() const noexcept { return ahead_.size() - static_cast<std::size_t>(given_); }
};

/// Hands out the iterators of a forward range in short chunks, under a lock. By design user code runs under
/// this lock: the range's iterator, one thread at a time.
template<class R>
class iterator_source {
  using chunk_size = basic_chunk_size<64>;

  std::uint32_t const threads_;
  std::size_t const least_; // a chunk has so many, unless no more are left
  std::mutex mutex_;        // user code runs under it: the iterator's own
  std::conditional_t<std::ranges::sized_range<R&>, counted_iterators<R>, read_ahead_iterators<R>> rest_;

public:
  iterator_source(R& range, std::uint32_t threads, std::size_t least)
      : threads_(threads)
      , least_(std::min(least, std::numeric_limits<std::size_t>::max() / 4)) // twice as many are read ahead
      , rest_(range) {}

  /// One chunk has them all. Before any thread takes from it.
  [[nodiscard]] bool is_one_chunk() { return rest_.known(least_ + 1) <= least_; }

  /// Calls f with one element after the other until none is left for this thread. Throws cancelled if
  /// stopped.
  template<class Stopped, class F>
  void drain(Stopped stopped, F&& f) {
    std::vector<std::ranges::iterator_t<R&>> chunk;
    for (chunk_size size;;) {
      if (stopped()) throw cancelled();
      pull(chunk, size);
      if (chunk.empty()) return;
      std::int64_t const begin = tick_count();
      try {
        for (auto const& i : chunk) f(*i);
      } catch (...) {
        std::lock_guard const guard(mutex_);
        rest_.end();
        throw;
      }
      size.learn(static_cast<std::uint32_t>(chunk.size()), tick_count() - begin,
                 chunk_size::brief_us * ticks_per_us());
    }
  }

private:
  void pull(std::vector<std::ranges::iterator_t<R&>>& chunk, chunk_size const& size) {
    std::lock_guard const guard(mutex_);
    constexpr std::size_t many = std::numeric_limits<std::uint32_t>::max();
    std::size_t const left = rest_.known(std::max(least_, std::size_t{size.wanted()} * threads_));
    std::size_t const n = size.of(static_cast<std::uint32_t>(std::min(left, many)), threads_);
    rest_.give(std::min(left, std::max(least_, n)), chunk);
  }
};

/// Hands out the elements of a single-pass range one at a time, under a lock, as lvalues if `Lvalues`. The
/// range is asked for the next element only when a thread is ready for it, because what it gives may depend
/// on what was done with the elements before.
template<class R, bool Lvalues>
class element_source {
  using element = std::ranges::range_value_t<R&>; // of a proxy: what it stands for

  std::mutex mutex_; // user code runs under it: the iterator's own
  std::ranges::iterator_t<R&> next_;
  std::ranges::sentinel_t<R&> end_;
  bool begun_ = false, ended_ = false;

  [[nodiscard]] std::optional<element> pull() {
    std::lock_guard const guard(mutex_);
    if (std::exchange(ended_, true)) return std::nullopt; // remains true if the iterator throws
    if (std::exchange(begun_, true)) ++next_;
    if (next_ == end_) return std::nullopt;
    std::optional<element> pulled(std::in_place, *next_);
    ended_ = false;
    return pulled;
  }

public:
  explicit element_source(R& range)
      : next_(std::ranges::begin(range))
      , end_(std::ranges::end(range)) {}

  /// As iterator_source::drain().
  template<class Stopped, class F>
  void drain(Stopped stopped, F&& f) {
    for (;;) {
      if (stopped()) throw cancelled();
      std::optional<element> pulled = pull();
      if (!pulled) return;
      try {
        if constexpr (Lvalues)
          f(*pulled);
        else
          f(*std::move(pulled));
      } catch (...) {
        std::lock_guard const guard(mutex_);
        ended_ = true;
        throw;
      }
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

template<bool Lvalues, class R>
[[nodiscard]] auto source_of(R& range, std::uint32_t threads, std::size_t least) {
  if constexpr (std::ranges::forward_range<R&>)
    return iterator_source<R>(range, threads, least);
  else
    return element_source<R, Lvalues>(range);
}

/// Calls f for the elements of a chunk.
template<class R, class F>
[[nodiscard]] auto for_elements(R& range, F& f) {
  return [&f, first = std::ranges::begin(range)](thread_context& me, std::uint64_t lo, std::uint64_t hi) {
    auto i = first + static_cast<std::ranges::range_difference_t<R&>>(lo);
    detail::repeat(hi - lo, [&f, &me, &i] {
      static_cast<void>(detail::call_and_wait(me, f, *i));
      ++i;
    });
  };
}

/// The elements of a range that cannot be split, at least so many to a thread at once; 0: as the loop likes.
template<class R, class F>
void hand_out(pool* p, R& range, F& f, std::uint64_t least) {
  detail::on_pool(p, [&](thread_context& caller) {
    // One share per worker; a late worker finds its share empty.
    unsigned const shares = std::max(1U, size_of(*caller.core));
    auto source = source_of<takes_lvalues<R, F>>(range, shares, least);
    auto const pull_all = [&source, &f](thread_context& me) {
      stop_around const stop(me);
      source.drain([&stop] { return stop.stopped(); },
                   [&f, &me](auto&& element) {
                     static_cast<void>(
                         detail::call_and_wait(me, f, std::forward<decltype(element)>(element)));
                   });
    };
    bool alone = shares == 1;
    if constexpr (std::ranges::forward_range<R&>) alone = alone || (least != 0 && source.is_one_chunk());
    if (alone)
      pull_all(caller);
    else
      detail::for_chunks(nullptr, shares, [&](thread_context& me, std::uint64_t lo, std::uint64_t hi) {
        for (; lo != hi; ++lo) pull_all(me);
      });
  });
}

template<class R, class F>
void call_for_each(pool* p, R& range, F& f) {
  static_assert(fits_elements<R, F>, "rubato: for_each(range, f): f must be callable as f(element)");
  if constexpr (fits_elements<R, F> && splittable<R&>)
    detail::for_chunks(p, static_cast<std::uint64_t>(std::ranges::size(range)),
                       detail::for_elements(range, f));
  else if constexpr (fits_elements<R, F>)
    detail::hand_out(p, range, f, 0);
}

template<class R, class F>
void call_for_each_in_long_chunks(pool* p, R& range, std::uint64_t least, F& f) {
  static_assert(fits_elements<R, F>,
                "rubato: for_each(range, min_chunk(n), f): f must be callable as f(element)");
  static_assert(std::ranges::forward_range<R&>,
                "rubato: for_each(range, min_chunk(n), f): from a single-pass range threads take one element "
                "at a time, since the next one may depend on it: leave min_chunk out");
  if constexpr (fits_elements<R, F> && splittable<R&>)
    detail::for_long_chunks(p, static_cast<std::uint64_t>(std::ranges::size(range)), least,
                            detail::for_elements(range, f));
  else if constexpr (fits_elements<R, F> && std::ranges::forward_range<R&>)
    detail::hand_out(p, range, f, least);
}

} // namespace rubato::detail
