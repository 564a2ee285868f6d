// How a thread waits for a result: it runs the work itself, leaves its seat, drives the pool, or just sleeps.
// docs/design/futures.md
#pragma once

#include "rubato/detail/sched/future_state.hpp"

namespace rubato::detail {

class pool_core;
struct pool_thread;

/// May the thread run the work in place, and is it ready? `stranded`: no other thread can, not even on the
/// seat where it must run.
[[nodiscard]] bool may_run_in_place(pool_core const& core, pool_thread const& t, future_state const& s,
                                    bool stranded = false) noexcept;
/// Runs it in place. False: it is not ready, or may not be.
bool run_in_place(pool_core& core, pool_thread& t, future_state& s, bool stranded = false) noexcept;
/// Runs work that was raised to a higher class, in place of its entry in the queue of the lower one. Nothing,
/// if it is not ready any more. The caller holds it.
void run_raised(pool_core& core, pool_thread& t, future_state& s) noexcept;

} // namespace rubato::detail
