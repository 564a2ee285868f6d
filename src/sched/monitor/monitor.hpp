// One thread per process that never runs user code: it finds work that no other thread looks for.
// docs/design/monitor.md
#pragma once

#include "sync/monitor_sleep.hpp"

namespace rubato::detail {

struct pool_thread;

inline constinit monitor_sleep sleep_of_monitor;

/// After an event that may want the monitor's attention; see basic_monitor_sleep::nudge().
inline void nudge_monitor(monitor_rest depth = monitor_rest::asleep) noexcept {
  sleep_of_monitor.nudge(depth);
}

/// Starts its thread, unless it runs already. Under the lock of the registry of pools, which it walks. Throws
/// std::system_error.
void start_monitor();

/// Would a thread that the caller makes be scheduled as one that the monitor makes?
[[nodiscard]] bool schedules_like_monitor() noexcept;
/// The monitor calls t.core->threads.make_now(t), soon. A caller that waits for it holds no lock that the
/// monitor takes.
void make_on_monitor(pool_thread& t) noexcept;

// Around fork(): the child has no monitor.
void lock_monitor() noexcept;
void unlock_monitor() noexcept;
void forget_monitor() noexcept;

} // namespace rubato::detail
