// Which task a worker runs next (guarantee F), and how it runs it: docs/design/README.md#fairness,
// docs/design/priorities.md. When nothing else is ready, search.cpp takes a low one.
#pragma once

#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/task.hpp"
#include "rubato/priority.hpp"
#include "work/task_queues.hpp"

namespace rubato::detail {

// Guarantee F: each source of normal tasks is looked at before all others in one of so many turns.
inline constexpr unsigned fair_every = 61;
inline constexpr unsigned child_turn = 30; ///< by the worker's loop; the others are in next_task.cpp

/// The caller's task of a batch. Wakes a thread if there are more: while those moved to the seat's queue they
/// were in no queue, and a thread that looked then may have gone to sleep.
[[gnu::always_inline]] inline task* begin_batch(pool_core& core, task_queues::batch const& b) noexcept {
  if (b.more) notify(core);
  return b.first;
}

/// The next of the queued tasks that the occupant of the seat is to run; guarantee F. Null: there is none.
[[nodiscard]] task* next_task(pool_core& core, pool_thread& t, seat& s) noexcept;
/// The oldest task of high or low priority, for the caller to run. Null: there is none.
[[nodiscard]] task* take(pool_core& core, pool_thread& t, priority c) noexcept;
/// A low task that has been ready for 100 ms, which counts as normal.
[[nodiscard]] task* take_aged(pool_core& core, pool_thread& t) noexcept;
/// What begins before a normal task at this boundary, while something other than normal is queued: a high
/// task, or in its turn a low one. Null: the normal task.
[[nodiscard]] task* take_before_normal(pool_core& core, pool_thread& t) noexcept;
/// The end of a task: the worker hands its seat over if a thread that came back from a wait has none.
void boundary(pool_core& core, pool_thread& t) noexcept;
/// Runs a task that was taken out of a queue.
void run_task(pool_core& core, pool_thread& t, task& k) noexcept;

} // namespace rubato::detail
