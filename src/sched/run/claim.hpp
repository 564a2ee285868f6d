// How a thread runs queued work without taking it out of its queue: a waiter in place of a wait, or a worker
// for work that was raised to a higher priority. docs/design/futures.md
#pragma once

#include "rubato/detail/work/future_state.hpp"
#include "rubato/detail/work/pool_port.hpp"

namespace rubato::detail {

class pool_core;
struct pool_thread;

/// May the thread run the work in place, and is it ready?
[[nodiscard]] bool may_run_in_place(pool_core const& core, pool_thread const& t,
                                    future_state const& s) noexcept;
/// Runs the work in place. False: it is not ready, or this thread may not run it in place.
bool run_in_place(pool_core& core, pool_thread& t, future_state& s) noexcept;
/// The work is ready, and its entry is in the queue of a lower priority, or of a pool that it has left:
/// queues a second entry where the work belongs now, unless one is there. That entry claims the work as a
/// waiter does. Also for work that an event has made ready while its entry is queued among other tasks. The
/// caller holds the work.
void queue_second_entry(future_state& s, made_ready_by cause = made_ready_by::task) noexcept;

} // namespace rubato::detail
