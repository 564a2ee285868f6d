// Shares a range without random access among several threads.
#pragma once

#include "rubato/cancelled.hpp"
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
  using kept = std::conditional_t<keeps_iterators, iterator, element>;

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
    std::vector<kept> chunk;
    for (std::size_t want = 1;;) {
      if (stopped()) throw cancelled();
      chunk.clear();
      pull(chunk, want);
      if (chunk.empty()) return;
      std::int64_t const begin = tick_count();
      try {
        for (auto& k : chunk) {
          if constexpr (keeps_iterators)
            f(*k);
          else if constexpr (Lvalues)
            f(k);
          else
            f(std::move(k));
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
  void pull(std::vector<kept>& chunk, std::size_t want) {
    std::lock_guard const guard(mutex_);
    for (; want != 0 && !ended_; --want) {
      bool const ended = std::exchange(ended_, true); // remains true if the iterator throws
      if (next_ == end_) return;
      if constexpr (keeps_iterators)
        chunk.push_back(next_);
      else
        chunk.push_back(*next_);
      ++next_;
      ended_ = ended;
    }
  }
};

} // namespace rubato::detail
