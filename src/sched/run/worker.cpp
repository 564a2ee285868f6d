// The loop of a worker: tasks, then a search, then sleep. Declared in detail/work/pool_port.hpp.
// docs/design/parking.md
#include "sched/run/next_task.hpp"

#include "os/thread.hpp"
#include "rubato/detail/trace/note.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/run/own_calls.hpp"
#include "sched/run/relief.hpp"
#include "sched/run/search.hpp"
#include "timer/event_source.hpp"

#include <thread>
#include <utility>

namespace rubato::detail {

namespace {

/// Runs a child of a scope, so that queues that never run empty do not keep it waiting. False: there is none,
/// or it is not the turn of a child. While a high task is queued, children share the turns of normal tasks.
bool run_child_in_turn(pool_core& core, pool_thread& t) noexcept {
  bool const high = core.queues.any(priority::high);
  if (high && (t.priority_tick + 1) % (2 * fair_every) != fair_every)
    return false; // a turn of the normal tasks
  scope_child* const c = take_child(core, t);
  if (c == nullptr) return false;
  if (high) ++t.priority_tick;
  ++t.schedule_tick;
  t.pass_boundary();
  run_found(core, t, found_work{.child = c});
  t.pass_boundary();
  return true;
}

/// The worker goes idle, and leaves its seat if it has one.
void rest(pool_core& core, pool_thread& t, bool searching) noexcept {
  t.resting = true;
  give_up_seat(core, t, leaving::to_rest, searching);
}

/// Runs a task that was sent to this thread, without a seat. False: there is none.
bool run_aside(pool_core& core, pool_thread& t) noexcept {
  task* const k = t.aside.take(); // a task that comes later is seen in sleep()
  if (k == nullptr) return false;
  t.resting = false; // the sender has counted it as active
  core.quiescence.thread_began();
  t.pass_boundary();
  run_task(core, t, *k);
  t.pass_boundary();
  t.spins_first = true;
  return true;
}

/// Waits awake for the time of a search: calls of race() and hedge() in a row need no wake. When the threads
/// that do so and the thread that makes the calls are more than there are CPUs, they let each other run.
void spin_before_sleep(pool_core& core, pool_thread const& t) noexcept {
  core.spinning.add(1);
  os::ticks const until = os::now() + core.search_ticks();
  while (!t.parker.is_notified() && os::now() < until) {
    for (unsigned i = 0; i != 16 && !t.parker.is_notified(); ++i) std_policy::pause();
    if (core.spinning.get() >= core.threads.cpus()) std::this_thread::yield();
  }
  core.spinning.subtract(1);
}

/// Sleeps until called to a seat, for relief or for a task without a seat. False: the thread is to end.
bool sleep(pool_core& core, pool_thread& t) noexcept {
  for (;;) {
    if (t.sits_on() != nullptr) return true;
    if (t.relief.is_raised() || !t.aside.is_empty()) return true;
    if (!t.calls.empty()) {
      if (core.idle_threads.withdraw(t) == idle_set::withdrawal::called) continue;
      core.idle_threads.count_in(t);
      t.resting = false;
      return true;
    }
    bool const exits = t.exiting.is_raised(); // by wind_up(), which unparks this thread afterwards
    if (exits || core.threads.any_surplus()) {
      auto const withdrawn = core.idle_threads.withdraw(t, !exits);
      if (withdrawn == idle_set::withdrawal::called) continue;
      if (withdrawn == idle_set::withdrawal::done) {
        if (core.threads.ends_now(t)) return false;
        left_seat const idle_again(core);
        core.idle_threads.await_call(t);
        continue;
      }
    }
    t.last_cpu.store(os::current_cpu(), std::memory_order_relaxed);
    if (std::exchange(t.spins_first, false)) {
      spin_before_sleep(core, t);
      continue;
    }
    event_source* const e = installed_events.get();
    if (e == nullptr || !e->sleep(t.parker)) t.parker.park();
  }
}

/// False: the thread is to end.
bool go_on_without_seat(pool_core& core, pool_thread& t) noexcept {
  if (run_aside(core, t)) return true;
  if (t.relief.is_raised())
    relieve(core, t);
  else if (!t.resting) // it has ended a task without a seat
    rest(core, t, false);
  else
    return sleep(core, t);
  return true;
}

/// The last calls, which came before the thread was told to end.
void end_with_calls(pool_core& core, pool_thread& t) noexcept {
  if (t.calls.empty()) return;
  core.idle_threads.count_in(t);
  static_cast<void>(run_own_calls(core, t));
  give_up_seat(core, t, leaving::for_good);
}

} // namespace

void worker_loop(pool_core& core, pool_thread& t) noexcept {
  bool searching = false;
  for (;;) {
    if (!t.calls.empty() && !searching && !t.resting) static_cast<void>(run_own_calls(core, t));
    seat* const s = t.sits_on();
    if (s == nullptr) {
      if (go_on_without_seat(core, t)) continue;
      end_with_calls(core, t);
      return;
    }
    if (t.resting) { // called, perhaps before it slept
      t.resting = false;
      searching = true; // idle_set::unpark_for_seat() has counted it so
      t.bump(counted::woken);
      pin(t, *s);
      if (core.threads.any_surplus()) core.idle_threads.unpark_spare(); // another idle one may end now
    }
    if (s->closed.load(std::memory_order_relaxed)) {
      rest(core, t, std::exchange(searching, false));
    } else if (!searching && t.schedule_tick % fair_every == child_turn && run_child_in_turn(core, t)) {
      boundary(core, t);
    } else if (task* k = searching ? nullptr : next_task(core, t, *s)) {
      t.pass_boundary();
      run_task(core, t, *k);
      t.pass_boundary();
      boundary(core, t);
    } else {
      note<event_kind::search>(nullptr);
      if (!searching) searching = begin_search(core);
      if (search_for_work(core, t, searching)) {
        boundary(core, t);
      } else if (!t.resting) {
        t.bump(counted::parked);
        rest(core, t, std::exchange(searching, false));
      }
    }
  }
}

} // namespace rubato::detail
