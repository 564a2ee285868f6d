#include "sched/run/next_task.hpp"

#include "rubato/detail/trace/note.hpp"
#include "rubato/detail/work/future_state.hpp"
#include "sched/core/pool_core.hpp"
#include "timer/event_source.hpp"

#include <cstddef>
#include <cstdint>

namespace rubato::detail {

namespace {

// Guarantee F: the turn of fair_every turns in which each source of normal tasks is looked at first.
constexpr unsigned event_turn = 0, inbox_turn = 10, queue_turn = 20, slot_turn = 40, injector_turn = 50;
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

/// 200 us have passed since `since`, and the last turn was no early one. Otherwise, if tasks run for longer
/// than 200 us, every turn would be an early one, and the other sources would have one turn of 61 each.
[[gnu::always_inline]] inline bool is_due(pool_thread const& t, os::ticks since, os::ticks now) noexcept {
  return now - since > fair_us * ticks_per_us() && t.schedule_tick - t.early_tick != 1;
}

/// An event, once in 200 us: so events begin soon, and do not keep the other tasks from beginning.
task* event_when_due(pool_core& core, pool_thread& t) noexcept {
  os::ticks const now = os::now();
  if (!is_due(t, t.event_at, now)) return nullptr;
  t.event_at = now;
  t.early_tick = t.schedule_tick;
  return take_event(core, t);
}

/// For the only worker of a pool, when its seat's own queue is empty.
[[gnu::always_inline]] inline task* next_for_only_worker(pool_core& core, pool_thread& t, seat& s) noexcept {
  bool const events_first = t.schedule_tick % event_before_backlog == 0;
  for (bool const event : {events_first, !events_first}) {
    task* const k = event ? begin_batch(core, core.queues.pop_events(&s)) : core.queues.pop_own(s);
    if (k == nullptr) continue;
    t.ran_event = event;
    return k;
  }
  return s.lifo_slot.take();
}

/// While the injector is not empty: one of its tasks, if one is due before the seat's own tasks. Null: the
/// seat's own tasks go on, or have been moved behind the injector. After a move the caller takes a batch from
/// there, of at most `batch` tasks.
[[gnu::always_inline]] inline task* injected_when_due(pool_core& core, pool_thread& t, seat& s,
                                                      std::size_t& batch) noexcept {
  os::ticks const now = os::now();
  // What is left of a batch goes first: it is older than what is in the injector, or it consists of events.
  if (!is_due(t, t.local_since, now) || task_queues::holds_batch(s)) return nullptr;
  t.local_since = now;
  if (core.queues.size_of_both() > run_queue::capacity) {
    batch = task_queues::large_batch;
    return begin_batch(core, core.queues.share_queue(s));
  }
  t.early_tick = t.schedule_tick;
  return core.queues.pop();
}

/// The next normal task.
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
    task* const k =
        begin_batch(core, event ? core.queues.pop_events(&s, batch) : core.queues.pop_batch(&s, batch));
    if (k == nullptr) continue;
    t.ran_event = event;
    return k;
  }
  return s.lifo_slot.take();
}

/// A high or low task is queued. The turns of normal tasks have a count of their own, schedule_tick: so the
/// sources of normal tasks share those turns fairly, however rare they are.
[[gnu::noinline, gnu::cold]] task* next_by_priority(pool_core& core, pool_thread& t, seat& s) noexcept {
  if (task* k = take_before_normal(core, t)) return k;
  bool const fair = t.priority_tick % fair_every == 0;
  if (fair) look_for_events(); // the normal tasks' turn for that may be far
  if (task* k = next_normal(core, t, s)) return k;
  if (!fair) return nullptr;
  // No normal task is queued, so the count of their turns skips to a child's turn, which comes next.
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
  if (++t.priority_tick % fair_every == 0) // normal and low in turn
    return t.priority_tick / fair_every % 2 == 0 ? take(core, t, priority::low) : nullptr;
  if (task* k = take(core, t, priority::high)) return k;
  return t.priority_tick % aged_every == 0 ? take_aged(core, t) : nullptr;
}

task* next_task(pool_core& core, pool_thread& t, seat& s) noexcept {
  if (core.queues.any_but_normal()) [[unlikely]]
    return next_by_priority(core, t, s);
  return next_normal(core, t, s);
}

namespace {

/// The code that a task runs: its own function, or, for work with a future, the type of its state.
std::uint64_t code_of(task const& k) noexcept {
  if (k.exec == &future_state::run_entry) return type_word(static_cast<future_state const&>(k));
  return k.is_second ? type_word(static_cast<second_entry const&>(k).of) : trace_word(k.exec);
}

[[gnu::always_inline]] inline void execute(pool_core& core, pool_thread& t, task& k) noexcept {
  if (core.life.is_discarding()) [[unlikely]] {
    // Work with a future tests itself whether it has begun: future_state::run_entry().
    k.exec(k, may_have_begun(k) ? &t : nullptr);
    return;
  }
  k.exec(k, &t);
}

[[gnu::noinline, gnu::cold]] void execute_traced(pool_core& core, pool_thread& t, task& k) noexcept {
  noted_activity const runs(activity::task, &k, code_of(k));
  execute(core, t, k);
}

} // namespace

void run_task(pool_core& core, pool_thread& t, task& k) noexcept {
  t.bump(counted::executed);
  if (k.holds_capacity) core.capacity.release();
  if (is_traced<event_kind::begin>()) [[unlikely]]
    return execute_traced(core, t, k);
  execute(core, t, k);
}

void boundary(pool_core& core, pool_thread& t) noexcept {
  if (!core.idle_threads.has_unseated() || t.sits_on() == nullptr) return;
  core.queues.flush_lifo_slot(*t.sits_on());
  if (!core.idle_threads.step_down(t)) return;
  left_seat const idle(core);
  t.resting = true;
}

} // namespace rubato::detail
