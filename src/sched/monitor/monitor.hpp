// One thread per process that never runs user code: it finds work that no other thread looks for.
// docs/design/monitor.md
#pragma once

#include "sched/worker/hazard_guard.hpp"
#include "sync/monitor_sleep.hpp"

#include <optional>

namespace rubato::detail {

class pool_core;
struct pool_thread;

inline constinit monitor_sleep sleep_of_monitor;

/// After an event that may want the monitor's attention; see basic_monitor_sleep::nudge().
inline void nudge_monitor(monitor_rest depth = monitor_rest::asleep) noexcept {
  sleep_of_monitor.nudge(depth);
}

/// The monitor looks at registered pools only. The first starts its thread. Throws std::system_error.
void add_to_monitor(pool_core& core);
void remove_from_monitor(pool_core& core) noexcept;

/// Would a thread that the caller makes be scheduled as one that the monitor makes?
[[nodiscard]] bool schedules_like_monitor() noexcept;
/// The monitor calls t.core->threads.make_now(t), soon. A caller that waits for it holds no lock that the
/// monitor takes.
void make_on_monitor(pool_thread& t) noexcept;

/// Every thread that waits in any pool looks again.
void wake_all_waiters() noexcept;
/// Begins a hazard guard if there is such a pool; it may be gone, or null.
[[nodiscard]] bool guard_if_there(pool_core const* core, std::optional<hazard_guard>& here) noexcept;
/// Was there such a pool when fork() made this process? Its threads are in the parent.
[[nodiscard]] bool was_left_behind(pool_core const* core) noexcept;

} // namespace rubato::detail
