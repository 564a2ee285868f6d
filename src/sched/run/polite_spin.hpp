// What a thread that waits awake does between two looks.
#pragma once

#include "os/clock.hpp"
#include "rubato/detail/base/policy.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <cstdint>
#include <thread>

namespace rubato::detail {

/// Yields now and then. The thread that is to end the wait may be ready on this CPU, if the caller has just
/// woken it, and the kernel does not begin it before the caller yields or sleeps.
class polite_spin {
  static constexpr std::int64_t yield_us = 4; // a yield takes a quarter of a microsecond
  os::ticks const between_ = yield_us * ticks_per_us();
  os::ticks next_;

public:
  explicit polite_spin(os::ticks now) noexcept
      : next_(now + between_ / 4) {}
  /// `now`: the caller has just read the clock.
  void yield_if_due(os::ticks now) noexcept {
    if (now < next_) return;
    std::this_thread::yield();
    next_ = now + between_;
  }
};

} // namespace rubato::detail
