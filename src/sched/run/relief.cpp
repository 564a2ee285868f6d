#include "sched/run/relief.hpp"

#include "os/thread.hpp"
#include "rubato/detail/trace/note.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/run/next_task.hpp"
#include "sched/run/own_calls.hpp"
#include "sched/run/search.hpp"

#include <chrono>

namespace rubato::detail {

namespace {

constexpr std::int64_t test_again_us = 1'000; // whether the thread is still blocked

struct relief_test {
  os::ticks at = 0; ///< the last test of whether the blocked thread still sleeps; 0: there was none
  std::chrono::nanoseconds cpu{}; ///< what it had used at the first one
};

/// At a task boundary of a thread that was sent for relief: does it go on? Never beside `size()` threads
/// that make progress.
bool is_relief_wanted(pool_thread const& t, relief_test& last) noexcept {
  if (t.relieves.blocked == nullptr) return t.table->boundaries_of_all_but(&t) == t.boundaries_then;
  pool_thread const& blocked = *t.relieves.blocked;
  if (blocked.boundaries.get() != t.boundaries_then || blocked.sits_on() == nullptr) return false;
  os::ticks const now = os::now();
  bool const first = last.at == 0;
  if (!first && now - last.at < test_again_us * ticks_per_us()) return true;
  os::thread_id const id = blocked.tid.get();
  std::chrono::nanoseconds const cpu = os::cpu_time(id);
  last.at = now;
  if (first) last.cpu = cpu;
  os::thread_state const state = os::state_of(id);
  return state == os::thread_state::sleeps || (state == os::thread_state::unknown && cpu == last.cpu);
}

/// What an event or a deadline has made ready, high before normal; null: there is none.
task* take_event_for_relief(pool_core& core, pool_thread& t) noexcept {
  task* const k = core.queues.pop(priority::high, priority_lane::events);
  if (k == nullptr) return core.queues.pop_event();
  t.bump(counted::executed_high);
  return k;
}

/// A ready task. In one of three turns, from the first on, events come first: so a deadline does not wait for
/// tasks that compute. In another one what is bound to the seat comes first. So neither starves the other
/// tasks. If the blocked thread is in a blocking region, it also hides children and latent jobs, and its
/// substitute runs those, too.
found_work find_for_relief(pool_core& core, pool_thread& t, unsigned turn) noexcept {
  if (t.relieves.events_alone) return {.queued = take_event_for_relief(core, t)};
  pool_thread const* const blocked = t.relieves.blocked;
  bool const on_seat = blocked != nullptr && blocked->blocks_on_seat.is_set();
  auto const take_bound = [blocked]() -> task* {
    seat* const s = blocked != nullptr ? blocked->sits_on() : nullptr;
    return s != nullptr ? s->inbox.pop() : nullptr;
  };
  if (turn % 3 == 0)
    if (task* const k = take_event_for_relief(core, t)) return {.queued = k};
  if (turn % 3 == 1)
    if (task* const k = take_bound()) return {.queued = k};
  if (core.queues.any_but_normal())
    if (task* const k = take_before_normal(core, t)) return {.queued = k};
  if (core.size() == 1 &&
      core.queues.seats() != 0) // what its one worker has taken from the injector comes first
    if (task* const k = core.queues.seat_at(0).queue.pop()) return {.queued = k};
  if (task* const k = core.queues.any_normal()) return {.queued = k};
  if (task* const k = take_bound()) return {.queued = k};
  if (on_seat) {
    if (scope_child* const c = take_child(core, t)) return {.child = c};
    if (steal_result const l = find_latent(core, t)) return {.latent = l};
  }
  if (task* const k = take(core, t, priority::high)) return {.queued = k};
  // Beside size() threads that compute no CPU is idle: the extra thread takes a low task only if it is aged.
  return {.queued = blocked != nullptr ? take(core, t, priority::low) : take_aged(core, t)};
}

} // namespace

void relieve(pool_core& core, pool_thread& t) noexcept {
  t.resting = false; // the monitor has counted it as active
  core.quiescence.thread_began();
  static_cast<void>(pin_to(t, -1)); // it may have been pinned for a copy of a hedged call
  note<event_kind::relief>(&core, t.relieves.blocked != nullptr ? t.relieves.blocked->index + 1U : 0U);
  relief_test last;
  for (unsigned turn = 0; is_relief_wanted(t, last); ++turn) {
    if (!t.calls.empty()) static_cast<void>(run_own_calls(core, t));
    found_work const f = find_for_relief(core, t, turn);
    if (!f) break;
    t.counts.bump(counted::relieved);
    t.pass_boundary();
    run_found(core, t, f);
    t.pass_boundary();
  }
  t.relief.lower();
}

} // namespace rubato::detail
