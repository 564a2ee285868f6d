// One thread per process that never runs user code: it finds work that no other thread looks for.
// docs/design/monitor.md
#pragma once

#include "sync/monitor_sleep.hpp"

namespace rubato::detail {

inline constinit monitor_sleep sleep_of_monitor;

/// After an event that may want the monitor's attention; see basic_monitor_sleep::nudge().
inline void nudge_monitor(monitor_rest depth = monitor_rest::asleep) noexcept {
  sleep_of_monitor.nudge(depth);
}

/// Starts its thread, unless it runs already. Under the lock of the registry of pools, which it walks. Throws
/// std::system_error.
void start_monitor();

/// In the child of a fork(), which has no monitor. Under the lock of the registry of pools.
void forget_monitor() noexcept;

} // namespace rubato::detail
