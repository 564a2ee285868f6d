// Calls that are for one thread of a pool, and no other: pool::broadcast(per_thread, f).
// docs/design/parking.md
//
// A caller pushes to the thread's list and unparks the thread. The thread looks at its list between two
// tasks, before it goes to sleep and in its waits. Until the call has run, it counts as an armed timer does:
// the pool is not idle.
#pragma once

#include "rubato/detail/work/pool_port.hpp"

#include <vector>

namespace rubato::detail {

/// The threads that take calls, by their numbers. Those that are missing for the pool's size are made, if
/// they can be.
[[nodiscard]] std::vector<pool_thread*> threads_to_call(pool_core& core);
/// Passes the call to the thread, or, if that has ended, to any thread of the pool. Takes ownership. An
/// `arrival` holds the pool open.
void call_on(pool_core& core, pool_thread& t, task& call) noexcept;
/// By the thread itself, which is in a task, in a wait, or counted as active. False: there was no call.
bool run_own_calls(pool_core& core, pool_thread& t) noexcept;

} // namespace rubato::detail
