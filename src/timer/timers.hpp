// The timers of the process. The reactor fires them, or the monitor, if there is no reactor.
// docs/design/timers.md
#pragma once

#include "rubato/detail/timer/timer.hpp"

#include <chrono>

namespace rubato::detail {

/// Fires the due timers, and sets the alarm to the next deadline. By any thread, after the alarm.
void fire_timers() noexcept;
/// For the monitor: fires the due timers. Returns when to come back: the next deadline, or `latest` if that
/// is earlier. An arm() for an earlier one than that sets the alarm.
[[nodiscard]] std::chrono::steady_clock::time_point
fire_timers_until(std::chrono::steady_clock::time_point latest) noexcept;

/// Calls off the timers that end with that pool. It may miss one that is armed meanwhile.
void call_off_timers(pool_core const& core) noexcept;

// Around fork(): the child has no timers.
void lock_timers() noexcept;
void unlock_timers() noexcept;
void forget_timers() noexcept;

} // namespace rubato::detail
