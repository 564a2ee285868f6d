#include "sched/run/claim.hpp"

#include "rubato/detail/trace/note.hpp"
#include "rubato/detail/work/future_state.hpp"
#include "sched/core/moving_tasks.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/core/pool_registry.hpp"
#include "work/hazard_guard.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <optional>
#include <utility>

namespace rubato::detail {

namespace {

constexpr unsigned most_claims = 64; // nested in each other on one stack

/// True: the entry's work was claimed, and the entry is freed.
bool is_stale(task& k, pool_core& core) noexcept {
  if (k.is_second || !may_have_begun(k)) return false;
  auto& s = static_cast<future_state&>(k);
  if (!s.queued.drop_if_stale()) return false;
  if (std::exchange(s.holds_capacity, false)) core.capacity.release();
  s.release();
  return true;
}

/// Claimed work stays in its queue, stale, until a thread pops it. A task that spawns and waits without end
/// would leave ever more, so the thread sweeps its queues once the stale tasks may be as many as the rest.
void sweep(pool_core& core, pool_thread& t) noexcept {
  if (++t.stale < t.stale_enough) return;
  t.stale = 0;
  seat* const s = t.sits_on();
  std::size_t left = 0;
  {
    moving_tasks const moving(core);
    auto const sweep_queue = [&](std::size_t n, auto pop, auto push) { // each of its tasks once
      for (; n != 0; --n) {
        task* const k = pop();
        if (k == nullptr) break;
        if (is_stale(*k, core)) continue;
        ++left;
        push(k);
      }
    };
    auto const push = [&core](task* k) { core.queues.push(k); };
    if (s != nullptr)
      sweep_queue(
          s->queue.size(), [s] { return s->queue.pop(); },
          [&](task* k) {
            if (!s->queue.push(k)) push(k);
          });
    sweep_queue(core.queues.size_of_both(), [&core] { return core.queues.pop(); }, push);
    for (priority const c : {priority::high, priority::low}) {
      // What stays counts as new afterwards, and ages later: so many have to be stale before a sweep.
      if (c == priority::low && std::exchange(t.stale_low, 0) < pool_thread::stale_at_least) continue;
      for (priority_lane const l : {priority_lane::tasks, priority_lane::events})
        sweep_queue(
            core.queues.by_priority().size(c, l), [&] { return core.queues.pop(c, l); },
            [&](task* k) { core.queues.push(k, c, l, os::now()); });
    }
  }
  t.stale_enough = std::max(pool_thread::stale_at_least, left);
}

} // namespace

namespace {

/// Is the work ready, and may any thread of the pool run it?
bool is_to_claim(pool_core const& core, future_state const& s) noexcept {
  return s.queued.is_ready() && s.home() == &core && s.seat.get() == future_state::any_seat;
}

} // namespace

bool may_run_in_place(pool_core const& core, pool_thread const& t, future_state const& s) noexcept {
  return t.claims < most_claims && is_to_claim(core, s);
}

namespace {

/// True: the caller has claimed the work, and is to run it. False: the work is not ready, or has moved.
bool claim(pool_core& core, future_state& s) noexcept {
  switch (s.queued.claim()) {
  case queue_state::claimed::no:
    return false;
  case queue_state::claimed::first:
    s.hold(); // for the queue
    break;
  case queue_state::claimed::again:
    break;
  }
  // Before the claim a coroutine may have run and moved. Once claimed, it stays where it is.
  if (s.home() != &core || s.seat.get() != future_state::any_seat) {
    offer(s);
    return false;
  }
  return true;
}

[[gnu::noinline, gnu::cold]] void resume_traced(pool_thread& t, future_state& s) noexcept {
  noted_activity const runs(activity::claimed, static_cast<task const*>(&s), type_word(s));
  s.resume(t);
}

/// `raised`: by its second entry, which run_task() has counted.
void run_claimed(pool_core& core, pool_thread& t, future_state& s, bool raised) noexcept {
  if (core.life.is_discarding() && !s.has_begun()) {
    s.drop();
  } else {
    if (!raised) t.bump(counted::executed);
    if (s.queued.was_low()) ++t.stale_low;
    ++t.claims;
    s.begun_by.set(t.index + 1);
    if (is_traced<event_kind::begin>()) [[unlikely]]
      resume_traced(t, s);
    else
      s.resume(t);
    --t.claims;
  }
  sweep(core, t);
}

} // namespace

bool run_in_place(pool_core& core, pool_thread& t, future_state& s) noexcept {
  if (!may_run_in_place(core, t, s) || !claim(core, s)) return false;
  run_claimed(core, t, s, false);
  return true;
}

namespace {

void run_second_entry(task& base, thread_context* runner) noexcept {
  auto& self = static_cast<second_entry&>(base);
  future_state& s = self.of;
  state_ref const held(&s);
  free_in_slab(&self);
  s.queued.undouble();
  if (runner == nullptr) return;
  pool_core& core = *runner->core;
  if (is_to_claim(core, s) && claim(core, s)) run_claimed(core, thread_of(*runner), s, true);
}

} // namespace

void queue_second_entry(future_state& s, made_ready_by cause) noexcept {
  pool_core* const home = s.home();
  std::optional<hazard_guard> there;
  if (!guard_if_there(home, there)) return;
  bool const is_only = s.queued.try_double();
  if (is_only || cause == made_ready_by::event) { // an event does not wait behind what is queued
    try {
      queue_task(*home, future_state::any_seat, s.queued.level(),
                 *make_in_slab<second_entry>(&run_second_entry, s), cause);
      return;
    } catch (std::bad_alloc const&) { // it stays where it is queued
      if (is_only) s.queued.undouble();
    }
  }
  notify(*home);
}

} // namespace rubato::detail
