// The time that a thread spends in the kernel, and whether its seat is left to others meanwhile.
// docs/design/parking.md
#pragma once

#include "rubato/detail/pool_access.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace rubato::detail {

/// What is known of the calls of blocking() with one callable. Relaxed: a guess that orders nothing.
class blocking_history {
  static constexpr unsigned enough = 4;
  static constexpr std::int64_t brief_us = 200; // no longer than many a task
  std::atomic<unsigned> brief_calls_{0};        // in a row

public:
  [[nodiscard]] bool is_brief() const noexcept {
    return brief_calls_.load(std::memory_order_relaxed) == enough;
  }
  void add(std::int64_t ticks) noexcept {
    unsigned const before = brief_calls_.load(std::memory_order_relaxed);
    unsigned const now = ticks < brief_us * ticks_per_us() ? std::min(before + 1, enough) : 0;
    if (now != before) brief_calls_.store(now, std::memory_order_relaxed);
  }
};

template<class F>
inline constinit blocking_history history_of{};

/// The member leaves its seat to others, unless that is expected to take longer than the call.
class away {
  member& me_;
  blocking_history& history_;
  bool const stays_;
  void* const seat_;
  std::int64_t const begin_ = tick_count();

public:
  away(member& me, blocking_history& h) noexcept
      : me_(me)
      , history_(h)
      , stays_(h.is_brief())
      , seat_(stays_ ? nullptr : leave_seat(me)) {}
  away(away const&) = delete;
  away& operator=(away const&) = delete;
  ~away() {
    history_.add(tick_count() - begin_);
    if (!stays_) come_back(me_, seat_);
  }
};

} // namespace rubato::detail
