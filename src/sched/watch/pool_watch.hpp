// What the monitor looks for in a pool: latent work beside sleepers, tasks that wait too long, waits that no
// thread can end. docs/design/monitor.md
#pragma once

#include "os/clock.hpp"

#include <cstdint>

namespace rubato::detail {

class pool_core;

struct attention {
  bool busy = false;   ///< a thread is active
  bool latent = false; ///< look again soon: a thread is busy and another sleeps
  bool queued = false; ///< look again in 10 ms: tasks are ready behind busy workers
};

/// By the monitor, now and then while it is awake.
[[nodiscard]] attention inspect(pool_core& core, os::ticks now) noexcept;
/// How many jobs, pieces of loops, children and tasks the pool's threads have moved to another thread so far.
[[nodiscard]] std::uint64_t moved_work(pool_core& core) noexcept;
/// Is there anything to look for: latent work beside sleepers; or, with `later`, queued tasks or threads that
/// all wait?
[[nodiscard]] bool wants_attention(pool_core& core, bool later) noexcept;
/// Arms the poll of every chain: its owner asks at the next fork whether the monitor sleeps.
void arm_poll_all(pool_core& core) noexcept;

} // namespace rubato::detail
