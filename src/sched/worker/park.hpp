// How a thread of a pool sleeps in a wait, and leaves its seats meanwhile. docs/design/parking.md
#pragma once

#include "sched/core/pool_core.hpp"
#include "sched/worker/search.hpp"

#include <chrono>
#include <utility>

namespace rubato::detail {

/// A seat on which a thread may drive a pool without workers. Null: there is no memory, try again.
[[nodiscard]] seat* sit_temporarily(pool_core& core, pool_thread& t) noexcept;

/// Leaves the seat for a wait, and counts that. Null: the thread has none. The caller calls after_vacating().
[[nodiscard]] seat* vacate_to_wait(pool_core& core, pool_thread& t) noexcept;
/// Leaves the seat, and those that the thread holds in other pools. Null: it has none here.
[[nodiscard]] seat* leave_seats(pool_thread& t) noexcept;
void return_to_seats(pool_thread& t, seat* s) noexcept;
/// Leaves the seats in other pools only.
void leave_outer_seats(pool_thread& t) noexcept;

/// While it lives, the calling thread holds no seat in any pool that it is a member of.
class seats_left {
  thread_context& me_ = *current;
  seat* const seat_ = me_.core != nullptr ? leave_seats(thread_of(me_)) : nullptr;

public:
  seats_left() noexcept = default;
  seats_left(seats_left const&) = delete;
  ~seats_left() {
    if (me_.core != nullptr) return_to_seats(thread_of(me_), seat_);
  }
};

/// Waits awake until `done`, for that long at most.
template<class Done>
void spin(os::ticks how_long, Done done) noexcept {
  os::ticks const until = os::now() + how_long;
  while (!done() && os::now() < until)
    for (unsigned i = 0; i != 16 && !done(); ++i) std_policy::pause();
}

/// For a pool without workers: the waiter runs ready tasks, in order, and in between sleeps beside a seat
/// of its own. Returns when done or when the pool has workers again.
template<class Done>
void drive_until(pool_core& core, pool_thread& t, char const* why, Done& done,
                 std::chrono::steady_clock::time_point deadline) noexcept {
  seat* left = nullptr;
  while (core.size() == 0 && !done()) {
    if (run_one(core, t)) continue;
    seat* const temporary = sit_temporarily(core, t);
    if (temporary == nullptr) continue;
    // Vacant, with this thread idle beside it: a push calls it as it calls any worker.
    core.vacate(t, leaving::to_drive);
    if (core.queues.any_shared() || any_latent(core, &t)) core.call_worker(temporary, true);
    t.waits_in.set(why);
    core.progress.begin_wait(); // asleep, it counts as waiting
    core.progress.tell_if_stuck();
    while (t.sits_on() == nullptr && !done() && core.size() == 0) t.parker.park_until(deadline);
    core.progress.end_wait();
    t.waits_in.set(nullptr);
    core.idle_threads.stop_driving(t);
    core.idle_threads.close(temporary);
    left = core.vacate(t, leaving::to_wait);
  }
  // A push may have called this thread, even after the pool got workers again; it has not run the work.
  core.after_vacating(left);
}

/// Leaves the seat, sleeps until `done`, comes back; drives the pool if it has no workers. The thread that
/// makes `done` true unparks this one afterwards.
template<class Done>
void park_until(
    pool_core& core, pool_thread& t, char const* why, thread_context const* waits_for, Done done,
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max()) noexcept {
  if (done()) return;
  seat* const s = vacate_to_wait(core, t);
  leave_outer_seats(t);
  // on_stall, which report() calls below, may wait as well.
  thread_context const* const outer_waits_for = t.waits_for.exchange(waits_for);
  t.waits_since.set(os::now());
  char const* const outer_why = t.waits_in.exchange(why);
  core.progress.begin_wait();
  core.after_vacating(s);
  while (!done()) {
    if (core.size() == 0) { // the waiter drives the pool, and does not count as waiting meanwhile
      t.waits_in.set(nullptr);
      core.progress.end_wait();
      drive_until(core, t, why, done, deadline);
      core.progress.begin_wait();
      t.waits_in.set(why);
      core.progress.tell_if_stuck();
      continue;
    }
    t.parker.park_until(deadline);
    // A thread that was woken and has not run yet still counts as waiting: that is no stall.
    if (core.progress.takes_report() && !done()) core.progress.report();
  }
  core.progress.end_wait();
  core.progress.wait_returned();
  t.waits_for.set(outer_waits_for);
  t.waits_in.set(outer_why);
  return_to_seats(t, s);
}

} // namespace rubato::detail
