#include "sched/wait/park.hpp"

#include "rubato/detail/trace/note.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/core/ready.hpp"
#include "sched/run/own_calls.hpp"
#include "sched/run/search.hpp"
#include "sched/watch/stall_watch.hpp"
#include "timer/nudge_monitor.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace rubato::detail {

namespace {

/// Leaves the seat for a wait, and counts that it was vacated. Null: the thread has no seat.
seat* leave_to_wait(left_seat& left, pool_thread& t) noexcept {
  if (t.sits_on() != nullptr) t.bump(counted::vacated); // before: the next occupant counts there as well
  return left.vacate(t, leaving::to_wait);
}

seat* leave_seat_in(pool_core& core, pool_thread& t) noexcept {
  left_seat left(core);
  return leave_to_wait(left, t);
}

void come_back_in(pool_core& core, pool_thread& t, seat* s) noexcept {
  if (s == nullptr) return; // a thread that had no seat before does not get one now
  if (core.idle_threads.sit(t, s, true))
    pin(t, *t.sits_on());
  else
    note<event_kind::unseated>(&core);
}

void come_back_to_outer_seats(pool_thread& t) noexcept {
  for (thread_context* m = t.outer; m->core != nullptr; m = thread_of(*m).outer) {
    pool_thread& outer = thread_of(*m);
    if (--outer.waits_elsewhere == 0) come_back_in(*m->core, outer, std::exchange(outer.left, nullptr));
  }
}

/// The thread may hold a seat in each pool that it is a member of. `waits_elsewhere` counts, because a wait
/// may begin within another: in on_stall, or in a task that a driver runs.
void leave_outer_seats(pool_thread& t) noexcept {
  for (thread_context* m = t.outer; m->core != nullptr; m = thread_of(*m).outer) {
    pool_thread& outer = thread_of(*m);
    if (outer.waits_elsewhere++ == 0) outer.left = leave_seat_in(*m->core, outer);
  }
}

/// A seat on which a thread may drive a pool without workers. Null: there is no memory, try again.
seat* sit_temporarily(pool_core& core, pool_thread& t) noexcept {
  if (t.own_seat == nullptr) {
    try {
      t.own_seat = &core.queues.add_personal_seat();
    } catch (std::bad_alloc const&) {
      return nullptr;
    }
  }
  core.idle_threads.open(t.own_seat);
  if (core.idle_threads.sit(t, t.own_seat, false)) return t.own_seat;
  core.idle_threads.close(t.own_seat);
  return nullptr;
}

/// For a pool without workers: the waiter runs ready tasks, in order, and in between sleeps beside a seat
/// of its own. Returns when done or when the pool has workers again.
void drive_until(pool_core& core, pool_thread& t, char const* why, function_ref<bool()> done,
                 std::chrono::steady_clock::time_point deadline) noexcept {
  left_seat left(core); // a push may have called this thread, even after the pool got workers again
  os::ticks search_until = 0;
  while (core.size() == 0 && !done()) {
    if (run_one(core, t)) {
      search_until = 0;
      continue;
    }
    if (search_until == 0) search_until = os::now() + core.search_ticks();
    seat* const temporary = sit_temporarily(core, t);
    if (temporary == nullptr) { // no memory
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    // Vacant, with this thread idle beside it: a push calls it as it calls any worker.
    left.vacate(t, leaving::to_drive);
    // A latent job may stay out of reach: another thief has asked for it, and was preempted. After the time
    // of a search the job is left to the monitor, which wakes this thread every half a millisecond.
    bool const latent = any_latent(core, &t);
    if (has_ready(core) || (latent && os::now() < search_until))
      core.unpark_worker(temporary, true);
    else if (latent)
      nudge_monitor(monitor_rest::light);
    t.waits_since.set(os::now());
    t.waits_in.set(why);
    core.waits.begin(); // asleep, it counts as waiting
    core.waits.nudge_if_stuck();
    while (t.sits_on() == nullptr && !done() && core.size() == 0 && t.calls.empty())
      t.parker.park_until(deadline); // run_one() looks at the calls
    core.waits.end();
    t.waits_in.set(nullptr);
    core.idle_threads.stop_driving(t);
    core.idle_threads.close(temporary);
    left.vacate(t, leaving::to_wait);
  }
}

/// Calls for this thread alone: what it waits for may wait for them. It does not count as waiting meanwhile.
void run_calls_in_wait(pool_core& core, pool_thread& t, char const* why) noexcept {
  t.waits_in.set(nullptr);
  core.waits.end();
  static_cast<void>(run_own_calls(core, t));
  core.waits.begin();
  t.waits_in.set(why);
  core.waits.nudge_if_stuck();
}

} // namespace

seat* leave_seats(pool_thread& t) noexcept {
  seat* const s = leave_seat_in(*t.core, t);
  leave_outer_seats(t);
  return s;
}

void return_to_seats(pool_thread& t, seat* s) noexcept {
  come_back_in(*t.core, t, s);
  come_back_to_outer_seats(t);
}

void park_until(pool_thread& t, char const* why, thread_context const* waits_for, function_ref<bool()> done,
                std::chrono::steady_clock::time_point deadline) noexcept {
  if (done()) return;
  pool_core& core = *t.core;
  note<event_kind::wait>(why, waits_for != nullptr ? waits_for->index + 1U : 0U);
  // on_stall, which report() calls below, may wait as well.
  thread_context const* const outer_waits_for = t.waits_for.get();
  char const* const outer_why = t.waits_in.get();
  os::ticks const outer_since = t.waits_since.get();
  seat* s = nullptr;
  {
    left_seat left(core);
    s = leave_to_wait(left, t);
    leave_outer_seats(t);
    t.waits_in_node.set(t.node);
    t.waits_for.set(waits_for);
    t.waits_since.set(os::now());
    t.waits_in.set(why);
    core.waits.begin();
  }
  while (!done()) {
    if (core.size() == 0) { // the waiter drives the pool, and does not count as waiting meanwhile
      t.waits_in.set(nullptr);
      core.waits.end();
      drive_until(core, t, why, done, deadline);
      core.waits.begin();
      t.waits_in.set(why);
      core.waits.nudge_if_stuck();
      continue;
    }
    if (t.calls.empty()) t.parker.park_until(deadline); // a driver may have used up the wake for a call
    if (!t.calls.empty()) run_calls_in_wait(core, t, why);
    // A thread that was woken and has not run yet still counts as waiting: that is no stall.
    if (core.waits.takes_report() && !done()) stall_watch(core).report();
  }
  core.waits.end();
  core.waits.returned();
  t.waits_for.set(outer_waits_for);
  t.waits_since.set(outer_since);
  t.waits_in.set(outer_why);
  return_to_seats(t, s);
  note<event_kind::wait_over>(why);
}

} // namespace rubato::detail
