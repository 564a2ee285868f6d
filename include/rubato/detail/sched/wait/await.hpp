// How a thread waits for a result: it runs the work itself, leaves its seat, drives the pool, or just sleeps.
// docs/design/futures.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/work/future_state.hpp"

#include <chrono>

namespace rubato::detail {

/// Waits on the calling thread, which may run the work in place if that is queued. False: the task that the
/// thread runs was stopped before the work ended.
[[nodiscard]] RUBATO_API bool await(future_state& s, char const* why) noexcept;
/// The same, but a stop does not end the wait: the work borrows the caller's objects.
RUBATO_API void await_end(future_state& s, char const* why) noexcept;
/// Waits until `deadline` and runs nothing meanwhile. False: the deadline came, or the task that the thread
/// runs was stopped.
[[nodiscard]] bool await_until(future_state& s, std::chrono::steady_clock::time_point deadline) noexcept;
/// The same for a wait in a loop of the program. Throws cancelled if the result is not ready and the task was
/// stopped before the wait: otherwise the loop would never end.
[[nodiscard]] RUBATO_API bool await_in_task_until(future_state& s,
                                                  std::chrono::steady_clock::time_point deadline);
/// True if it had not ended when fork() made this process: then it never will, and only the parent's copy
/// goes on.
[[nodiscard]] RUBATO_API bool was_lost_in_fork(future_state const& s) noexcept;

} // namespace rubato::detail
