#include "sched/watch/backlog_watch.hpp"

#include "os/thread.hpp"
#include "sched/core/pool_core.hpp"

#include <algorithm>
#include <chrono>

namespace rubato::detail {

namespace {

constexpr std::int64_t patience_us = 10'000; // guarantee R
constexpr int mostly_blocked = 10;           // uses the CPU for less than a tenth of the time

} // namespace

backlog_watch::backlog_watch(pool_core& core) noexcept
    : core_(core)
    , notes_(core.notes) {}

void backlog_watch::look(os::ticks now) noexcept {
  if (notes_.queues_noted != 0 && now - notes_.queues_noted < patience_us * ticks_per_us()) return;
  lateness const late = note_queues(now);
  relief_seen const relief = look_at_relief(now);
  bool all_compute = relief.computes;
  for (unsigned i = 0, n = core_.queues.seats(); i != n; ++i) {
    seat& s = core_.queues.seat_at(i);
    if (i < core_.size())
      all_compute = look_at_seat(s, late.any, now) && all_compute;
    else if (late.any) // closed, and perhaps not left yet
      share_tasks_of(s);
  }
  if (!late.any) return;
  if (core_.idle_threads.has_vacant()) // a seat is free: a worker has to be called, or no thread can be made
    core_.unpark_worker();
  else if (all_compute)
    send_extra(relief, late, now);
}

/// Every thread on a seat computes. If the extra thread computes, too, a second one runs events alone.
void backlog_watch::send_extra(relief_seen const& seen, lateness const& late, os::ticks now) noexcept {
  if (!seen.extra && (late.but_low || core_.queues.any_aged(now)))
    send_relief({});
  else if (seen.extra_computes && !seen.for_events && late.events)
    send_relief({.events_alone = true});
}

/// Marks the blocked threads that have a substitute.
backlog_watch::relief_seen backlog_watch::look_at_relief(os::ticks now) noexcept {
  core_.threads.records.for_each([](pool_thread& t) { t.seen.substituted = false; });
  relief_seen all;
  core_.threads.records.for_each([&](pool_thread& t) {
    if (!t.relief.is_raised()) return; // by order_relief()
    doing const what = judge(t, now);
    if (what == doing::blocked) return; // it is blocked itself: another may be sent
    if (t.relieves.events_alone) {
      all.for_events = true;
    } else if (t.relieves.blocked == nullptr) {
      all.extra = true;
      all.extra_computes = what == doing::computes;
    }
    if (t.relieves.blocked == nullptr) return;
    t.relieves.blocked->seen.substituted = true;
    if (what != doing::computes) all.computes = false;
  });
  return all;
}

/// Relieves the seat if its occupant is blocked. False: a thread begins tasks there, or one was sent now.
bool backlog_watch::look_at_seat(seat& s, bool late, os::ticks now) noexcept {
  // acquire: pairs with basic_idle_set::assign(), because the record may be new. Records outlive threads.
  auto* const t = static_cast<pool_thread*>(s.occupant.load(std::memory_order_acquire));
  doing const what = t != nullptr ? judge(*t, now) : doing::something;
  if (what == doing::something) return false;
  if (late) share_tasks_of(s);
  if (what == doing::computes || t->seen.substituted) return true;
  // It is judged as blocked: it has hidden its work since the last look, 10 ms ago, or longer.
  if (!hides_work(core_, *t) && (!late || core_.idle_threads.has_vacant())) return true;
  send_relief({.blocked = t});
  return false;
}

/// Other threads may run them.
void backlog_watch::share_tasks_of(seat& s) noexcept {
  auto const moving = core_.quiescence.begin_transit();
  // The only worker's queue stays before the injector: with one worker tasks run in the order in which they
  // were queued.
  if (core_.size() != 1 || s.index != 0) core_.queues.share_queue(s);
  core_.queues.share_lifo_slot(s);
}

bool backlog_watch::any_hidden() const noexcept {
  for (unsigned i = 0, n = core_.size(); i < n && i < core_.queues.seats(); ++i) {
    // acquire: as in look_at_seat().
    auto* const t =
        static_cast<pool_thread*>(core_.queues.seat_at(i).occupant.load(std::memory_order_acquire));
    if (t != nullptr && hides_work(core_, *t)) return true;
  }
  return false;
}

/// Has a task been ready since the last note? Queues are first in, first out: if fewer tasks have been popped
/// by now than had been pushed by then, one of those is still queued.
backlog_watch::lateness backlog_watch::note_queues(os::ticks now) noexcept {
  std::size_t const n = core_.queues.seats();
  bool const first = notes_.queues_noted == 0 || notes_.pushed_then.size() != n + watch_notes::first_seat;
  if (first)
    notes_.pushed_then.assign(n + watch_notes::first_seat, 0); // the constructor has reserved the memory
  auto const note = [&](std::size_t i, std::uint64_t pushed, std::uint64_t popped) {
    bool const is_late = !first && popped < notes_.pushed_then[i];
    notes_.pushed_then[i] = pushed;
    return is_late;
  };
  priority_queues const& queued = core_.queues.by_priority();
  auto const note_lane = [&](std::size_t i, priority_lane l) {
    return note(i, queued.pushed(priority::high, l), queued.popped(priority::high, l));
  };
  bool late = note(watch_notes::injector, core_.queues.pushed(), core_.queues.popped());
  bool events = note(watch_notes::event_lane, core_.queues.events_pushed(), core_.queues.events_popped());
  if (note_lane(watch_notes::high, priority_lane::tasks)) late = true;
  if (note_lane(watch_notes::high_events, priority_lane::events)) events = true;
  late = late || events;
  bool const late_low = note(watch_notes::low, queued.pushed(priority::low), queued.popped(priority::low));
  for (std::size_t i = 0; i != n; ++i) {
    seat& s = core_.queues.seat_at(static_cast<unsigned>(i));
    if (note(watch_notes::first_seat + i, s.queue.pushed(), s.queue.popped())) late = true;
    // A LIFO slot is emptied at the occupant's next task boundary.
    if (!first && !s.lifo_slot.is_empty()) late = true;
  }
  notes_.queues_noted = now;
  return {late || late_low, late, events};
}

/// What the thread has done since the last look. Judged by its CPU time: a thread that the system has
/// preempted neither computes nor is blocked.
backlog_watch::doing backlog_watch::judge(pool_thread& t, os::ticks now) noexcept {
  auto& seen = t.seen;
  os::thread_id const id = t.tid.get();
  if (id == 0) return doing::something; // it is being made
  unsigned const boundaries = t.boundaries.get();
  std::chrono::nanoseconds const cpu = os::cpu_time(id), used = cpu - seen.cpu;
  std::chrono::nanoseconds const since{std::int64_t{1000} * ((now - seen.at) / ticks_per_us())};
  bool const passed = seen.tid != id || seen.boundaries != boundaries;
  if (passed) seen.cpu_then = cpu;
  seen.tid = id;
  seen.boundaries = boundaries;
  seen.cpu = cpu;
  seen.at = now;
  // Between tasks it may sleep in one of the pool's own locks, and will go on.
  if (passed || !pool_thread::is_in_task(boundaries)) return doing::something;
  if (used * mostly_blocked <= since) {
    os::thread_state const state = os::state_of(id);
    // If the kernel does not tell the state: the thread has not run for 10 ms. On an overloaded machine it
    // may be runnable all the same.
    bool const stands = state == os::thread_state::unknown && cpu.count() != 0 && used.count() == 0;
    if (state == os::thread_state::sleeps || stands) return doing::blocked;
  }
  return cpu - seen.cpu_then >= std::chrono::microseconds(patience_us) ? doing::computes : doing::something;
}

/// By the monitor. One more thread runs ready tasks.
void backlog_watch::send_relief(relief_order const& order) noexcept {
  pool_thread* t = nullptr;
  if (idle_set_thread* const idle = core_.idle_threads.take_idle()) {
    t = &thread_of(*idle);
    core_.threads.order_relief(*t, order);
    t->parker.unpark();
  } else {
    core_.threads.start_relief(order);
  }
}

} // namespace rubato::detail
