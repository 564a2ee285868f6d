#include "sched/life/lifecycle.hpp"

#include "os/die.hpp"
#include "rubato/detail/trace/note.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "sched/core/moving_tasks.hpp"
#include "sched/core/outside_waiters.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/core/pool_registry.hpp"
#include "sched/core/ready.hpp"
#include "sched/life/process.hpp"
#include "sched/life/shutdown_report.hpp"
#include "sched/wait/await_quiescence.hpp"
#include "sched/wait/park.hpp"
#include "timer/nudge_monitor.hpp"
#include "timer/timers.hpp"
#include "work/hazard_guard.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace rubato::detail {

namespace {

/// Around a change in the life of the pool. Its end wakes the threads that wait for capacity, for quiescence
/// or for the end of the pool's threads.
class life_change {
  pool_core& core_;

public:
  explicit life_change(pool_core& core) noexcept
      : core_(core) {}
  life_change(life_change const&) = delete;
  life_change& operator=(life_change const&) = delete;
  ~life_change() {
    core_.capacity.notify_all();
    core_.quiescence.notify_all();
  }
};

} // namespace

void lifecycle::check_workers(unsigned n) {
  if (n <= pool_core::max_workers) return;
  bool const was_negative = n > std::numeric_limits<unsigned>::max() / 2; // before its conversion
  throw std::invalid_argument("rubato: a pool has at most 1,024 workers, not " +
                              (was_negative ? "a negative number" : std::to_string(n)));
}

lifecycle::lifecycle(pool_core& core) noexcept
    : core_(core)
    , state_(core.life) {}

/// Returns the old one.
unsigned lifecycle::set_target(unsigned n) noexcept {
  unsigned const before = state_.target_.exchange(n);
  // A thread that waits meanwhile is woken afterwards.
  if (before == 0 && n != 0) workerless_pools.subtract(1);
  if (before != 0 && n == 0) workerless_pools.add(1);
  return before;
}

void lifecycle::start(unsigned workers) {
  check_workers(workers);
  enter_process(core_);
  try {
    lock_guard const guard(state_.mutex_);
    core_.add_seats(workers);
    open_seats(workers);
    if (workers == 0) core_.threads.keep_a_record();
  } catch (...) {
    static_cast<void>(shutdown(ending::discard, true));
    throw;
  }
}

/// Under mutex_, after add_seats().
void lifecycle::open_seats(unsigned n) {
  unsigned const before = set_target(n);
  core_.threads.open(before == 0); // so join_all() returns
  for (unsigned i = before; i < n; ++i) core_.idle_threads.open(&core_.queues.seat_at(i));
  core_.unpark_for_inboxes(); // of tasks that came in between
  // Each thread begins on a seat, and goes idle there if there is nothing to do.
  if (core_.threads.start_missing() || before != 0 || core_.threads.made() != 0) return;
  // The waiters go on driving: no other thread would run the queued tasks.
  close_seats(0, set_target(0));
  core_.threads.unpark_all(); // those that came in between drive again
  unpark_all_drivers();
  core_.threads.throw_refusal();
}

unsigned lifecycle::resize(unsigned workers) {
  check_workers(workers);
  lock_guard const guard(state_.mutex_);
  note<event_kind::resized>(&core_, workers);
  life_change const change(core_); // ends under the lock: from the unlock on the pool may go
  bool const restarts = state_.is_closed() || state_.ending_.peek() != ending::none;
  std::stop_source fresh(std::nostopstate);
  if (restarts) fresh = std::stop_source(); // what may find no memory comes before the first change
  core_.add_seats(workers);
  unsigned const before = state_.target_.peek();
  if (restarts) {
    {
      lock_guard const deciding(state_.deciding_); // from here on no thread drops new work as stuck
      state_.ending_.set(ending::none);
      state_.entrance_.set(entrance::open);
    }
    lock_guard const stop(state_.stop_mutex_);
    state_.stop_.swap(fresh);
  }
  if (workers >= before) {
    open_seats(workers);
  } else {
    close_seats(workers, set_target(workers));
    core_.threads.end_surplus(workers);
    if (workers == 0) {
      core_.threads.unpark_all(); // they drive from now on
      unpark_all_drivers();       // and so do waiters in other pools and outside
    }
  }
  if (core_.queues.any_shared() || any_latent(core_)) core_.notify();
  nudge_monitor(monitor_rest::light); // a thread may be busy, and there are sleepers now
  return before;
}

/// The seats from `first` to before `last`. An occupant retires its seat again when it leaves, perhaps late.
void lifecycle::close_seats(unsigned first, unsigned last) noexcept {
  for (unsigned i = first; i != last; ++i) core_.idle_threads.close(&core_.queues.seat_at(i));
  for (unsigned i = first; i != last; ++i) core_.retire_seat(core_.queues.seat_at(i));
}

/// Guests that only wait here see that the pool ends, and leave.
void lifecycle::unpark_guests() noexcept {
  core_.threads.records.for_each([](pool_thread& t) {
    if (!t.worker.load(std::memory_order_relaxed)) t.parker.unpark();
  });
}

/// Drops queued tasks that have not begun. A task that has begun is queued because its wait is over: it goes
/// back.
void lifecycle::discard_queued() noexcept {
  moving_tasks const moving(core_);
  auto const discard_from = [&](auto pop, auto push) {
    task* kept = nullptr; // linked by the queues' own link
    while (task* const k = pop()) {
      if (k->holds_capacity) core_.capacity.release();
      task* const resumption = drop_unless_begun(*k);
      if (resumption == nullptr) continue;
      resumption->next.store(kept, std::memory_order_relaxed); // relaxed: only this thread has it
      kept = resumption;
    }
    while (kept != nullptr) {
      task* const k = kept;
      kept = static_cast<task*>(k->next.load(std::memory_order_relaxed));
      push(k);
    }
  };
  discard_from([this] { return core_.queues.any_task(); },
               [this](task* k) { core_.queues.push(k, priority_of(*k), priority_lane::tasks, os::now()); });
  for (unsigned i = 0, n = core_.queues.seats(); i != n; ++i) {
    seat& s = core_.queues.seat_at(i);
    discard_from([&s] { return s.inbox.pop(); }, [&s](task* k) { s.inbox.push(k); });
  }
}

/// Drops all that is queued in a closed pool. Under mutex_, which it unlocks if there is a task: destructors
/// are user code, and may queue more. False: there was none.
bool lifecycle::drop_queued(std::unique_lock<mutex>& life) noexcept {
  task* first = nullptr; // the oldest, linked by the queues' own link
  {
    auto const moving = core_.quiescence.begin_transit();
    task* last = nullptr;
    auto const take_from = [&](auto pop) {
      while (task* const k = pop()) {
        if (k->holds_capacity) core_.capacity.release();
        k->next.store(nullptr, std::memory_order_relaxed); // relaxed: only this thread has it
        if (last != nullptr)
          last->next.store(k, std::memory_order_relaxed);
        else
          first = k;
        last = k;
      }
    };
    take_from([this] { return core_.queues.any_task(); });
    for (unsigned i = 0, n = core_.queues.seats(); i != n; ++i)
      take_from([&s = core_.queues.seat_at(i)] { return s.inbox.pop(); });
  }
  if (first == nullptr) return false;
  life.unlock();
  while (first != nullptr) {
    task* const k = first;
    first = static_cast<task*>(k->next.load(std::memory_order_relaxed));
    k->exec(*k, nullptr); // not in transit any more: a destructor may wait for the pool to be idle
  }
  core_.quiescence.notify_if_quiet();
  return true;
}

void lifecycle::drop_last() noexcept {
  for (std::unique_lock life(state_.mutex_); drop_queued(life);) life.lock();
}

// Shutdown, in steps (docs/design/lifecycle.md):
//   1. request_shutdown() writes ending_, requests the stop of the pool's token, and ends waits: a drain ends
//      those for time and I/O, a discard all but those for borrowed work, and drops what has not begun.
//   2. The workers run ready tasks, and those that these make ready, until the pool is quiescent.
//   3. Coroutines that are still suspended on Rubato's own awaitables are destroyed; back to 2.
//   4. close_pool(): no seats, no threads.
// end_if_quiet() does 3 and 4 in the thread that went idle last; shutdown() does them in its caller, and
// joins the threads.

void lifecycle::request_shutdown(ending how) {
  if (!begin_to_end(how)) return;
  core_.waits.nudge_if_stuck();
  core_.quiescence.notify_if_quiet();
}

/// Step 1. False: the pool is closed.
bool lifecycle::begin_to_end(ending how) {
  life_change const change(core_); // callers from outside count as late from now on
  {
    lock_guard const guard(state_.mutex_);
    if (state_.is_closed()) return false;
    ending const before = state_.ending_.peek();
    if (before == ending::none) {
      core_.capacity.restart_late();
      state_.was_discarded_ = false;
    }
    if (how == ending::discard) state_.was_discarded_ = true;
    if (before != ending::discard) state_.ending_.set(how);
  }
  std::stop_source stop(std::nostopstate); // a destructor may come here: it allocates nothing
  {
    lock_guard const guard(state_.stop_mutex_);
    stop = state_.stop_;
  }
  stop.request_stop(); // outside the locks: callbacks are user code
  ask_owned_tasks();
  if (how == ending::discard) {
    unpark_all_waiters(); // of other pools too: they may wait on behalf of tasks that run here
    discard_queued();
  }
  unpark_guests();
  return true;
}

/// The pool is not quiescent before the last owned task has been asked to end its wait. Otherwise another
/// thread could drop a task as stuck that this one is about to ask, or close the pool to what the tasks do
/// that were asked first.
void lifecycle::ask_owned_tasks() noexcept {
  auto const asking = core_.quiescence.begin_transit();
  if (state_.is_discarding()) {
    core_.owned.request_stop();
    withdrawn_work idle;
    core_.routines.withdraw(idle.routines);
    drop(idle);
  } else {
    core_.owned.request_drain();
  }
  call_off_timers(core_);
  core_.routines.resume_timed(); // when the pool discards: those that were about to wait
}

/// Under deciding_. True: nothing runs, is queued or arrives; new work waits until the caller opens or closes
/// the entrance. Pairs with `arrival`: its thread is announced before it looks at the entrance. So it waits
/// there, or this thread sees the arrival, and is told when the work is queued.
bool lifecycle::stands_still() noexcept {
  state_.entrance_.set(entrance::deciding);
  std_policy::heavy_barrier();
  return !any_arrival(core_) && core_.quiescence.now();
}

/// What waits for work that runs is not stuck. So no work may arrive between the look and the last
/// withdrawal.
void lifecycle::withdraw_stuck(withdrawn_work& to) noexcept {
  if (core_.owned.empty() && !core_.routines.any()) return;
  lock_guard const deciding(state_.deciding_);
  if (state_.ending_.get() == ending::none || state_.is_closed()) return;
  if (stands_still()) {
    core_.routines.withdraw(to.routines);
    core_.owned.withdraw_stuck(to.tasks);
    if (!to.empty()) state_.dropping_.add(1);
  }
  state_.entrance_.set(entrance::open);
}

/// Without locks: destructors are user code.
void lifecycle::drop(withdrawn_work& work) noexcept {
  waiting_routines::end_waits(work.routines);
  owned_tasks::drop(work.tasks);
}

/// To be called when the pool ends and was quiescent. True: at least one task was dropped. A task that can go
/// on must not be dropped, and the requester may not have asked it yet: so this asks all tasks first. If one
/// goes on, the pool is not quiescent any more. Of two threads that do this at the same time, the one that
/// asks last finds the pool quiescent.
bool lifecycle::drop_stuck() noexcept {
  ask_owned_tasks();
  // A dropped task may release one that could not be withdrawn before, and its destructors may queue work.
  for (bool any = false;; any = true) {
    withdrawn_work stuck;
    withdraw_stuck(stuck);
    if (stuck.empty()) return any;
    drop(stuck);
    state_.dropping_.subtract(1);
    core_.quiescence.notify_if_quiet(); // a thread may wait for the end of the drops
  }
}

void lifecycle::end_if_quiet() noexcept {
  // One thread looks, and again if more have come meanwhile: the next look sees what they did before.
  if (state_.end_checks_.add(1) != 0) return;
  for (unsigned served = 1; served != 0;) {
    if (state_.ending_.get() != ending::none && core_.quiescence.now()) static_cast<void>(drop_stuck());
    // Another thread that holds the lock changes the pool's life at this moment, and looks itself.
    if (std::unique_lock const guard(state_.mutex_, std::try_to_lock);
        guard && state_.ending_.get() != ending::none && core_.quiescence.now())
      static_cast<void>(close_pool());
    served = state_.end_checks_.subtract(served) - served;
  }
}

/// Under mutex_, when the pool was quiescent: closes all seats, ends all threads. False: work has arrived.
bool lifecycle::close_pool() noexcept {
  {
    lock_guard const deciding(state_.deciding_);
    bool const closes = stands_still() && !has_suspended() && !core_.routines.any();
    state_.entrance_.set(closes ? entrance::closed : entrance::open);
    if (!closes) return false;
  }
  life_change const change(core_);
  close_seats(0, set_target(0)); // a task may have come since the pool was seen idle
  core_.threads.wind_up();
  state_.ending_.set(ending::none);
  return true;
}

/// Under mutex_. Unlocks it, because a task that was queued at the last moment may lock it. False: work has
/// arrived.
bool lifecycle::close_or_await_arrivals(std::unique_lock<mutex>& life,
                                        std::chrono::steady_clock::time_point& discard_at,
                                        shutdown_report& slow) {
  bool const closed = state_.is_closed() || close_pool();
  life.unlock();
  if (closed) return true;
  if (!any_arrival(core_)) return false;
  // Pairs with the end of an arrival: ending_ was written before the barrier in close_pool(). An arrival that
  // ends when the pool does not end any more tells no thread.
  core_.quiescence.await([this] { return !state_.has_begun_to_end() || !any_arrival(core_); },
                         std::min(discard_at, slow.due()));
  if (any_arrival(core_)) report_or_discard(discard_at, slow);
  return false;
}

bool lifecycle::shutdown(ending how, bool destroying, std::chrono::steady_clock::time_point discard_at) {
  refuse_members(destroying);
  if (destroying) {
    if (state_.size() == 0) how = ending::discard;
    state_.destroyed_.set(true);
    unpark_guests();
  }
  request_shutdown(how);
  seats_left const left; // of other pools
  shutdown_report slow(core_, core_.name(), discard_at);
  auto const restarted = [this, destroying] { // by resize(), which no destructor heeds; under mutex_
    return !destroying && state_.ending_.peek() == ending::none && !state_.is_closed();
  };
  for (unsigned round = 0;;) {
    await_quiet(discard_at, slow);
    std::unique_lock life(state_.mutex_);
    bool const drained = !state_.was_discarded_;
    bool const closed = state_.is_closed();
    if (restarted()) return drained;
    life.unlock();
    // What is queued in a closed pool is left until resize(), or dropped below. In a pool that is not closed,
    // the tasks that end here may have queued more.
    if (!closed && (drop_stuck() || await_owned_tasks(discard_at, slow))) continue;
    life.lock();
    if (restarted()) return drained;
    if (!close_or_await_arrivals(life, discard_at, slow)) {
      std_policy::back_off(round++); // a thread outside may be between the wake of a routine and its push
      continue;
    }
    bool const all_joined = core_.threads.join_all();
    life.lock();
    if (!all_joined || !state_.is_closed()) { // resize()
      if (destroying) continue;
      return drained;
    }
    for (unsigned i = 0, n = core_.queues.seats(); i != n; ++i) core_.retire_seat(core_.queues.seat_at(i));
    bool const drops = destroying || how == ending::discard || !drained;
    if (drops && drop_rest(life, discard_at, slow)) continue;
    if (destroying) core_.threads.await_guests(); // one may be on its way out
    return drained;
  }
}

/// Drops all that has come to the closed pool. Under mutex_, which it unlocks. False: there is nothing left.
bool lifecycle::drop_rest(std::unique_lock<mutex>& life, std::chrono::steady_clock::time_point& discard_at,
                          shutdown_report& slow) {
  if (drop_queued(life)) return true;
  life.unlock();
  core_.owned.request_stop(); // a coroutine that waits for its children ends with them
  return drop_owned() || await_owned_tasks(discard_at, slow);
}

/// In a closed pool. True: at least one task was dropped.
bool lifecycle::drop_owned() noexcept {
  for (bool any = false;; any = true) {
    withdrawn_work left;
    core_.owned.withdraw_stuck(left.tasks);
    if (left.empty()) return any;
    drop(left);
  }
}

/// A member would wait for itself. So would a thread that is about to queue work here, and calls this in the
/// copy constructor of the callable.
void lifecycle::refuse_members(bool destroying) const {
  if (!is_member(core_) && !own_hazards.arrivals.is_at(&core_)) return;
  if (destroying)
    os::die("a pool was destroyed by one of its own tasks, which would wait for itself; call "
            "request_shutdown() there and destroy the pool elsewhere");
  throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                          "rubato: shutdown() called from a task of the same pool, which would wait for "
                          "itself; call request_shutdown() there");
}

/// A drain has not ended in time.
void lifecycle::begin_discard(std::chrono::steady_clock::time_point& discard_at) {
  discard_at = std::chrono::steady_clock::time_point::max();
  request_shutdown(ending::discard);
}

/// After a wait that was limited by both.
void lifecycle::report_or_discard(std::chrono::steady_clock::time_point& discard_at, shutdown_report& slow) {
  auto const now = std::chrono::steady_clock::now();
  if (now >= slow.due()) slow.print();
  if (now >= discard_at) begin_discard(discard_at);
}

/// Waits until the pool is quiescent or closed. Begins to discard at `discard_at`, if work is left.
void lifecycle::await_quiet(std::chrono::steady_clock::time_point& discard_at, shutdown_report& slow) {
  while (!await_quiescence(core_, std::min(discard_at, slow.due()), true)) {
    auto const now = std::chrono::steady_clock::now();
    if (now < discard_at)
      slow.print();
    else if (has_work())
      begin_discard(discard_at);
    else
      discard_at = now + std::chrono::milliseconds(1); // threads begin, or go to rest
  }
}

/// Waits for coroutines that await something foreign, or are about to be resumed. The thread that resumes one
/// runs it, and calls quiescence::notify_if_quiet(). False: there is none.
bool lifecycle::await_owned_tasks(std::chrono::steady_clock::time_point& discard_at, shutdown_report& slow) {
  if (!has_suspended()) return false;
  bool woken = false; // once is enough: the caller looks at everything anew
  core_.quiescence.await(
      [&] {
        return std::exchange(woken, true) || !has_suspended() || !core_.idle_threads.no_thread_runs() ||
               core_.queues.any_queued();
      },
      std::min(discard_at, slow.due()));
  report_or_discard(discard_at, slow);
  return true;
}

/// A task that another thread drops counts until its destructors have run: they may queue work.
bool lifecycle::has_suspended() const noexcept { return !core_.owned.empty() || state_.dropping_.get() != 0; }

/// Is there work, beside threads that begin or go to rest? A hint: a task that was just taken out of a queue
/// is seen at the next look.
bool lifecycle::has_work() const noexcept {
  if (core_.quiescence.any_armed() || core_.queues.any_queued() || any_latent(core_) || has_suspended())
    return true;
  bool runs = false;
  core_.threads.records.for_each(
      [&](pool_thread& t) { runs = runs || pool_thread::is_in_task(t.boundaries.get()); });
  return runs;
}

void end_if_quiet(pool_core& c) noexcept { lifecycle(c).end_if_quiet(); }
void drop_last(pool_core& c) noexcept { lifecycle(c).drop_last(); }

} // namespace rubato::detail
