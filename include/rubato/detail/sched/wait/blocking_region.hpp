// A thread's time in the kernel, during which it may leave its seat to another thread. docs/design/parking.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <algorithm>
#include <cstdint>

namespace rubato::detail {

/// Leaves the caller's seat to another thread until come_back(). Null: the caller has no seat.
[[nodiscard]] RUBATO_API void* leave_seat(thread_context& me) noexcept;
RUBATO_API void come_back(thread_context& me, void* seat) noexcept;
/// The caller may block in the kernel on its seat until leave_kernel(): if that lasts, a substitute runs the
/// work that the seat and the thread hide.
RUBATO_API void enter_kernel(thread_context& me) noexcept;
RUBATO_API void leave_kernel(thread_context& me) noexcept;

/// The history of the blocking() calls with one callable: a guess.
class blocking_history {
  static constexpr unsigned enough = 4;
  static constexpr std::int64_t brief_us = 200; // many tasks take as long
  relaxed<unsigned> brief_calls_;               // consecutive

public:
  [[nodiscard]] bool is_brief() const noexcept { return brief_calls_.get() == enough; }
  void add(std::int64_t ticks) noexcept {
    unsigned const before = brief_calls_.get();
    unsigned const now = ticks < brief_us * ticks_per_us() ? std::min(before + 1, enough) : 0;
    if (now != before) brief_calls_.set(now);
  }
};

template<class F>
inline constinit blocking_history history_of{};

/// The thread leaves its seat to another thread, unless the call is expected to be brief.
class blocking_region {
  thread_context& me_;
  blocking_history& history_;
  bool const stays_;
  void* const seat_;
  std::int64_t const begin_ = tick_count();

public:
  blocking_region(thread_context& me, blocking_history& h) noexcept
      : me_(me)
      , history_(h)
      , stays_(h.is_brief())
      , seat_(stays_ ? nullptr : leave_seat(me)) {
    if (stays_) enter_kernel(me);
  }
  blocking_region(blocking_region const&) = delete;
  ~blocking_region() {
    history_.add(tick_count() - begin_);
    if (stays_)
      leave_kernel(me_);
    else
      come_back(me_, seat_);
  }
};

} // namespace rubato::detail
