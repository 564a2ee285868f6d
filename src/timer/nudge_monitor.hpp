// The sleep of the process's monitor (sched/watch/monitor.cpp), as every thread sees it that may have to wake
// the monitor. docs/design/monitor.md
#pragma once

#include "sync/monitor_sleep.hpp"

namespace rubato::detail {

inline constinit monitor_sleep sleep_of_monitor;

/// After an event that may want the monitor's attention; see basic_monitor_sleep::nudge().
inline void nudge_monitor(monitor_rest depth = monitor_rest::asleep) noexcept {
  sleep_of_monitor.nudge(depth);
}

} // namespace rubato::detail
