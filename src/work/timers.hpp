// What the watch needs of the timers, which live one floor above it (src/time/timers.cpp).
// docs/design/timers.md
#pragma once

#include "rubato/detail/timer.hpp"

#include <chrono>

namespace rubato::detail {

/// Fires what is due. Returns when to come back: the next deadline, or `latest` if that is earlier; an arm()
/// for an earlier one than that calls wake_for_timer().
[[nodiscard]] std::chrono::steady_clock::time_point
fire_timers(std::chrono::steady_clock::time_point latest) noexcept;

/// Interrupts the sleep of the thread that fires, however short it is. In watch.cpp.
void wake_for_timer() noexcept;

// Around fork(): the child has no timers.
void lock_timers() noexcept;
void unlock_timers() noexcept;
void forget_timers() noexcept;

} // namespace rubato::detail
