#include "sched/run/worker.hpp"

#include "os/thread.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/run/search.hpp"
#include "timer/event_source.hpp"

#include <thread>
#include <utility>

namespace rubato::detail {

namespace {

// Guarantee F: of so many turns, one each in which a source of normal tasks is looked at before all others.
constexpr unsigned fair_every = 61;
constexpr unsigned event_turn = 0, inbox_turn = 10, queue_turn = 20, child_turn = 30, slot_turn = 40,
                   injector_turn = 50;
constexpr std::uint64_t first_turns = std::uint64_t{1} << event_turn | std::uint64_t{1} << inbox_turn |
                                      std::uint64_t{1} << queue_turn | std::uint64_t{1} << slot_turn |
                                      std::uint64_t{1} << injector_turn;
constexpr unsigned most_slot_runs = 3;        // the same
constexpr std::int64_t fair_us = 200;         // the same
constexpr unsigned event_before_backlog = 32; // every so many turns
constexpr unsigned aged_every = 20;           // an aged low task, among the normal ones

task* take_event(pool_core& core, pool_thread& t) noexcept {
  task* const k = core.queues.pop_event();
  if (k != nullptr) t.ran_event = true;
  return k;
}

/// The source that is looked at first in this turn. Null: it is empty.
[[gnu::noinline]] task* first_in_turn(pool_core& core, pool_thread& t, seat& s, unsigned turn) noexcept {
  switch (turn) {
  case event_turn:
    look_for_events();
    return take_event(core, t);
  case inbox_turn:
    return s.inbox.pop();
  case queue_turn:
    return s.queue.pop();
  case slot_turn:
    return s.lifo_slot.take();
  default:
    break;
  }
  if (core.size() != 1 || !task_queues::is_owner(s)) return core.queues.pop();
  task* const k = s.queue.pop(); // with one worker, its own tasks are older
  return k != nullptr ? k : core.queues.pop_own(s);
}

/// After 200 us, but not in two turns in a row: tasks that run for longer would leave the others one turn of
/// 61 each.
[[gnu::always_inline]] inline bool is_due(pool_thread const& t, os::ticks since, os::ticks now) noexcept {
  return now - since > fair_us * ticks_per_us() && t.schedule_tick - t.early_tick != 1;
}

/// An event begins before the tasks that are queued, but not before all of them.
task* event_when_due(pool_core& core, pool_thread& t) noexcept {
  os::ticks const now = os::now();
  if (!is_due(t, t.event_at, now)) return nullptr;
  t.event_at = now;
  t.early_tick = t.schedule_tick;
  return take_event(core, t);
}

/// The next task behind the seat's own queue, if no other worker needs to find it.
[[gnu::always_inline]] inline task* next_for_only_worker(pool_core& core, pool_thread& t, seat& s) noexcept {
  bool const events_first = t.schedule_tick % event_before_backlog == 0;
  for (bool const event : {events_first, !events_first}) {
    auto const [first, more] =
        event ? core.queues.pop_events(&s) : task_queues::batch{core.queues.pop_own(s)};
    if (more) core.notify(); // as in next_normal()
    if (first == nullptr) continue;
    t.ran_event = event;
    return first;
  }
  return s.lifo_slot.take();
}

/// Before the seat's own tasks, while the injector is not empty. Null: they go on, or a batch from there
/// comes. `batch`: how many tasks that may have.
[[gnu::always_inline]] inline task* injected_when_due(pool_core& core, pool_thread& t, seat& s,
                                                      std::size_t& batch) noexcept {
  os::ticks const now = os::now();
  // What is left of a batch goes first: it is older than what is in the injector, or events.
  if (!is_due(t, t.local_since, now) || task_queues::holds_batch(s)) return nullptr;
  t.local_since = now;
  if (core.queues.size_of_both() > run_queue::capacity) {
    core.queues.share_queue(s);
    core.notify(); // on their way the tasks were in neither queue, as in next_normal()
    batch = task_queues::large_batch;
    return nullptr;
  }
  t.early_tick = t.schedule_tick;
  return core.queues.pop();
}

/// The next task of a pool without classes.
[[gnu::always_inline]] inline task* next_normal(pool_core& core, pool_thread& t, seat& s) noexcept {
  unsigned const turn = ++t.schedule_tick % fair_every;
  if ((first_turns >> turn & 1U) != 0) [[unlikely]]
    if (task* k = first_in_turn(core, t, s, turn)) return k;
  if (!core.queues.events_empty())
    if (task* k = event_when_due(core, t)) return k;
  // The injector last: every post from outside changes what injector_empty() reads. With one worker, its own
  // tasks are older.
  std::size_t batch = task_queues::usual_batch;
  if (t.local_since != 0 && core.size() > 1 && !core.queues.injector_empty())
    if (task* k = injected_when_due(core, t, s, batch)) return k;
  if (task* k = s.inbox.pop()) return k;
  if (t.slot_runs != most_slot_runs) {
    if (task* k = s.lifo_slot.take()) {
      ++t.slot_runs;
      return k;
    }
  }
  t.slot_runs = 0;
  if (task* k = s.queue.pop()) return k;
  t.local_since = 0;
  if (core.size() == 1 && task_queues::is_owner(s)) return next_for_only_worker(core, t, s);
  for (bool const event : {!t.ran_event, t.ran_event}) { // in turns
    auto const [first, more] = event ? core.queues.pop_events(&s, batch) : core.queues.pop_batch(&s, batch);
    // While it moved, the batch was in neither queue: a thread that looked then may have gone to sleep.
    if (more) core.notify();
    if (first == nullptr) continue;
    t.ran_event = event;
    return first;
  }
  return s.lifo_slot.take();
}

/// Something other than normal is queued. Normal tasks are counted on their own, so that what is fair among
/// them stays so, however rarely their turn comes.
[[gnu::noinline, gnu::cold]] task* next_by_class(pool_core& core, pool_thread& t, seat& s) noexcept {
  if (task* k = take_before_normal(core, t)) return k;
  bool const fair = t.class_tick % fair_every == 0;
  if (fair) look_for_events(); // the normal tasks' turn for that may be far
  if (task* k = next_normal(core, t, s)) return k;
  if (!fair) return nullptr;
  // No normal task is queued, so the count of those stands still: the next such turn is a child's.
  t.schedule_tick += (fair_every + child_turn - t.schedule_tick % fair_every) % fair_every;
  return take(core, t, priority::high);
}

} // namespace

task* take(pool_core& core, pool_thread& t, priority c) noexcept {
  task* const k = core.queues.pop(c);
  if (k != nullptr) t.bump(c == priority::high ? counted::executed_high : counted::executed_low);
  return k;
}

task* take_aged(pool_core& core, pool_thread& t) noexcept {
  task* const k = core.queues.pop_aged(os::now());
  if (k != nullptr) t.bump(counted::executed_low);
  return k;
}

task* take_before_normal(pool_core& core, pool_thread& t) noexcept {
  if (++t.class_tick % fair_every == 0) // normal and low in turn
    return t.class_tick / fair_every % 2 == 0 ? take(core, t, priority::low) : nullptr;
  if (task* k = take(core, t, priority::high)) return k;
  return t.class_tick % aged_every == 0 ? take_aged(core, t) : nullptr;
}

task* next_task(pool_core& core, pool_thread& t, seat& s) noexcept {
  if (core.queues.any_classed()) [[unlikely]]
    return next_by_class(core, t, s);
  return next_normal(core, t, s);
}

void run_task(pool_core& core, pool_thread& t, task& k) noexcept {
  t.bump(counted::executed);
  if (k.holds_capacity) core.capacity.release();
  if (core.life.is_discarding()) [[unlikely]] {
    // Work with a future tests itself whether it has begun: future_state::run_entry().
    k.exec(k, may_have_begun(k) ? &t : nullptr);
    return;
  }
  k.exec(k, &t);
}

void boundary(pool_core& core, pool_thread& t) noexcept {
  if (!core.idle_threads.has_unseated() || t.sits_on() == nullptr) return;
  core.queues.flush_lifo_slot(*t.sits_on());
  if (!core.idle_threads.step_down(t)) return;
  t.resting = true;
  core.after_vacating(nullptr); // a thread that goes idle always looks at the queues afterwards
  core.quiescence.tell_waiters();
}

namespace {

/// Runs a child of a scope, so that queues that never run empty do not keep it waiting. False: there is none,
/// or it is not its turn, because a high task is queued: then children have a part of the turns of the normal
/// tasks.
bool run_child_in_turn(pool_core& core, pool_thread& t) noexcept {
  bool const high = core.queues.any(priority::high);
  if (high && (t.class_tick + 1) % (2 * fair_every) != fair_every) return false; // a turn of the normal tasks
  scope_child* const c = take_child(core, t);
  if (c == nullptr) return false;
  if (high) ++t.class_tick;
  ++t.schedule_tick;
  t.pass_boundary();
  run_found(core, t, finding{.child = c});
  t.pass_boundary();
  return true;
}

/// The worker goes idle, and leaves its seat if it has one.
void rest(pool_core& core, pool_thread& t, bool searching) noexcept {
  t.resting = true;
  core.after_vacating(core.vacate(t, leaving::to_rest, searching));
  core.quiescence.tell_waiters();
}

/// Runs a task that was sent to this thread, without a seat. False: there is none.
bool run_aside(pool_core& core, pool_thread& t) noexcept {
  task* const k = t.aside.take(); // looked at once more if it comes too late for this look
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
    bool const exits = t.exiting.is_raised(); // by wind_up(), which unparks this thread afterwards
    if (exits || core.threads.any_surplus()) {
      auto const struck = core.idle_threads.strike(t, !exits);
      if (struck == idle_set::struck::called) continue;
      if (struck == idle_set::struck::yes) {
        if (core.threads.ends_now(t)) return false;
        core.idle_threads.await_call(t);
        core.call_for_inboxes();
        if (core.queues.any_shared()) core.notify();
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
    core.progress.relieve(t);
  else if (!t.resting) // it has ended a task without a seat
    rest(core, t, false);
  else
    return sleep(core, t);
  return true;
}

} // namespace

void worker_loop(pool_core& core, pool_thread& t) noexcept {
  bool searching = false;
  for (;;) {
    seat* const s = t.sits_on();
    if (s == nullptr) {
      if (!go_on_without_seat(core, t)) return;
      continue;
    }
    if (t.resting) { // called, perhaps before it slept
      t.resting = false;
      searching = true; // idle_set::summon() has counted it so
      t.bump(counted::woken);
      pin(t, *s);
      if (core.threads.any_surplus()) core.idle_threads.unpark_spare(); // in whose stead this one was called
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
