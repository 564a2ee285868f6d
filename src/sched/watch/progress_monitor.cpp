#include "sched/watch/progress_monitor.hpp"

#include "os/die.hpp"
#include "os/thread.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/run/search.hpp"
#include "sched/run/worker.hpp"
#include "sched/watch/monitor.hpp"

#include <cstdio>
#include <functional>
#include <new>
#include <optional>
#include <string>

namespace rubato::detail {

namespace {

constexpr std::int64_t patience_us = 10'000;  // guarantee R
constexpr int mostly_blocked = 10;            // uses the CPU for less than a tenth of the time
constexpr std::int64_t test_again_us = 1'000; // whether the thread is still blocked
constexpr unsigned stalled_looks_enough = 3;  // in a row, at least 10 ms apart but for the first
constexpr std::int64_t jam_us = 1'000'000;    // what may go on by itself is told of later
constexpr std::size_t first_seat = 5;         // in the notes: see pushed_then_

void print(stall_report const& report) {
  constexpr std::size_t most_lines = 20;
  std::string text =
      "rubato: pool '" + report.pool + "' has stalled: every thread waits for work of the pool, ";
  if (report.spares_used_up)
    text += std::to_string(report.ready) +
            " task(s) are ready, and no other thread can be made for them: all spares are used up "
            "(raise pool_options::spares, or wait by co_await, which holds no thread), or the system has no "
            "thread left; ";
  else
    text += "and ";
  text += std::to_string(report.suspended) + " coroutine(s) are suspended\n";
  for (std::size_t i = 0; i != report.waiters.size() && i != most_lines; ++i) {
    auto const& w = report.waiters[i];
    text += "  thread " + std::to_string(w.thread) + " waits in " + w.waits_in;
    if (w.waits_for) text += " for thread " + std::to_string(*w.waits_for);
    text += '\n';
  }
  if (report.waiters.size() > most_lines)
    text += "  and " + std::to_string(report.waiters.size() - most_lines) + " other threads\n";
  static_cast<void>(std::fputs(text.c_str(), stderr));
}

void call_handler(std::function<void(stall_report const&)> const& handler, stall_report const& report) {
  try {
    handler(report);
  } catch (...) {
    os::die("on_stall threw, and no caller is left to tell");
  }
}

} // namespace

progress_monitor::progress_monitor(pool_core& core, unsigned most_seats)
    : core_(core) {
  pushed_then_.reserve(most_seats + first_seat);
}

/// Every active thread waits for something that only the pool can complete.
bool progress_monitor::all_wait() const noexcept {
  // Both announced: see nudge_monitor().
  std::size_t const active = core_.idle_threads.active();
  return active != 0 && waiting_.get() >= active;
}

/// The same, and no thread outside can end a wait. tell_if_stuck() follows each event that makes it true: a
/// wait begins, or an active thread goes idle or leaves.
bool progress_monitor::is_stuck() const noexcept {
  return core_.size() != 0 && all_wait() && outside_waits_.get() == 0; // changed before waiting_
}

void progress_monitor::tell_if_stuck() noexcept {
  if (is_stuck()) nudge_monitor(monitor_rest::dozing);
}

void progress_monitor::tell_of_latent(bool on_blocked_seat) noexcept {
  if (!sleep_of_monitor.rests_after_poll()) return;
  if (on_blocked_seat) nudge_monitor(); // its seat hides the job
  // If no seat is vacant, the thread that vacates one tells the monitor: after_vacating().
  if (!core_.idle_threads.has_vacant()) return;
  // A worker, not the monitor: a wake costs the same, and the worker takes the latent jobs. It tells the
  // monitor if it finds something while other workers sleep, or when it rests. Pairs with
  // tell_if_owed(): if call_worker() sees a searcher and wakes none, that searcher reads owed_ after
  // it has ended its search.
  owed_.set(true);
  core_.call_worker();
}

void progress_monitor::tell_if_owed() noexcept {
  if (owed_.get() && owed_.exchange(false) && core_.idle_threads.has_vacant())
    nudge_monitor(monitor_rest::dozing);
}

bool progress_monitor::is_stranded() noexcept {
  return core_.size() != 0 && all_wait() && core_.threads.no_thread_to_call();
}

void progress_monitor::arm_poll_all() noexcept {
  core_.threads.records.for_each([](pool_thread& t) { t.chain.arm_poll(); });
}

/// Counts the waits that have ended; never 0.
std::uint64_t progress_monitor::this_epoch() const noexcept { return returns_.get() + 1; }

/// Is there anything to look for: latent work beside sleepers; or, with `later`, queued tasks or threads that
/// all wait? Sequentially consistent: see nudge_monitor().
bool progress_monitor::wants_attention(bool later) const noexcept {
  if (core_.idle_threads.active() == 0) return false;
  if (later && (core_.queues.any_queued() || any_hidden() || core_.queues.any_lifo_slot().where != nullptr ||
                (is_stuck() && stall_epoch_ != this_epoch())))
    return true;
  return core_.idle_threads.has_vacant() && any_latent(core_);
}

progress_monitor::attention progress_monitor::inspect(os::ticks now) noexcept {
  attention result;
  if (core_.idle_threads.active() == 0) {
    latent_seen_ = false;
    return result;
  }
  // One thread is busy and another sleeps. Latent work that is there at two looks in a row is not short.
  if (core_.idle_threads.has_vacant()) {
    result.latent = any_latent(core_);
    if (result.latent && latent_seen_) core_.call_worker();
    latent_seen_ = result.latent;
  }
  if (core_.queues.any_queued() || core_.queues.any_lifo_slot().where != nullptr || any_hidden()) {
    result.queued = true;
    look_for_jam(now); // before the waiters are woken in vain: see not_launched()
    if (core_.size() != 0) look_at_backlog(now);
  } else {
    queues_noted_ = 0;
    jammed_since_ = 0;
  }
  if (look_for_stall()) result.queued = true; // look again
  return result;
}

/// Tasks are queued. Once one has been ready for 10 ms, finds out what keeps the threads from it.
void progress_monitor::look_at_backlog(os::ticks now) noexcept {
  if (queues_noted_ != 0 && now - queues_noted_ < patience_us * ticks_per_us()) return;
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
    core_.call_worker();
  else if (all_compute)
    send_extra(relief, late, now);
}

/// Every thread on a seat computes. The extra thread may do so as well, but an event does not wait for that.
void progress_monitor::send_extra(relief_seen const& seen, lateness const& late, os::ticks now) noexcept {
  if (!seen.extra && (late.but_low || core_.queues.any_aged(now)))
    send_relief({});
  else if (seen.extra_computes && !seen.for_events && late.events)
    send_relief({.events_alone = true});
}

/// Marks the blocked threads that have a substitute.
progress_monitor::relief_seen progress_monitor::look_at_relief(os::ticks now) noexcept {
  core_.threads.records.for_each([](pool_thread& t) { t.seen.substituted = false; });
  relief_seen all;
  core_.threads.records.for_each([&](pool_thread& t) {
    if (!t.relief.is_raised()) return; // by call_for_relief()
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
bool progress_monitor::look_at_seat(seat& s, bool late, os::ticks now) noexcept {
  // acquire: pairs with basic_idle_set::assign(), because the record may be new. Records outlive threads.
  auto* const t = static_cast<pool_thread*>(s.occupant.load(std::memory_order_acquire));
  doing const what = t != nullptr ? judge(*t, now) : doing::something;
  if (what == doing::something) return false;
  if (late) share_tasks_of(s);
  if (what == doing::computes || t->seen.substituted) return true;
  // It is judged as blocked: it has hidden its work since the last look, 10 ms ago, or longer.
  if (!hides_work(*t) && (!late || core_.idle_threads.has_vacant())) return true;
  send_relief({.blocked = t});
  return false;
}

/// Other threads may run them.
void progress_monitor::share_tasks_of(seat& s) noexcept {
  auto const moving = core_.quiescence.begin_transit();
  // The only worker's queue stays before the injector: with one worker tasks run in the order in which they
  // were queued.
  if (core_.size() != 1 || s.index != 0) core_.queues.share_queue(s);
  core_.queues.share_lifo_slot(s);
}

bool progress_monitor::hides_work(pool_thread const& t) const noexcept {
  seat const* const s = t.sits_on();
  if (s == nullptr) return false;
  return !s->inbox.empty() || (t.blocks_on_seat.is_set() && (t.chain.has_latent() || any_child(core_)));
}

bool progress_monitor::any_hidden() const noexcept {
  for (unsigned i = 0, n = core_.size(); i < n && i < core_.queues.seats(); ++i) {
    // acquire: as in look_at_seat().
    auto* const t =
        static_cast<pool_thread*>(core_.queues.seat_at(i).occupant.load(std::memory_order_acquire));
    if (t != nullptr && hides_work(*t)) return true;
  }
  return false;
}

/// Has a task been ready since the last note? Queues are first in, first out: if fewer tasks have been popped
/// by now than had been pushed by then, one of those is still queued.
progress_monitor::lateness progress_monitor::note_queues(os::ticks now) noexcept {
  std::size_t const n = core_.queues.seats();
  bool const first = queues_noted_ == 0 || pushed_then_.size() != n + first_seat;
  if (first) pushed_then_.assign(n + first_seat, 0); // the constructor has reserved the memory
  auto const note = [&](std::size_t i, std::uint64_t pushed, std::uint64_t popped) {
    bool const is_late = !first && popped < pushed_then_[i];
    pushed_then_[i] = pushed;
    return is_late;
  };
  class_queues const& classes = core_.queues.classes();
  auto const note_lane = [&](std::size_t i, class_lane l) {
    return note(i, classes.pushed(priority::high, l), classes.popped(priority::high, l));
  };
  bool late = note(0, core_.queues.pushed(), core_.queues.popped());
  bool events = note(1, core_.queues.events_pushed(), core_.queues.events_popped());
  if (note_lane(2, class_lane::tasks)) late = true;
  if (note_lane(3, class_lane::events)) events = true;
  late = late || events;
  bool const late_low = note(4, classes.pushed(priority::low), classes.popped(priority::low));
  for (std::size_t i = 0; i != n; ++i) {
    seat& s = core_.queues.seat_at(static_cast<unsigned>(i));
    if (note(first_seat + i, s.queue.pushed(), s.queue.popped())) late = true;
    // A LIFO slot is emptied at the occupant's next task boundary.
    if (!first && !s.lifo_slot.is_empty()) late = true;
  }
  queues_noted_ = now;
  return {late || late_low, late, events};
}

/// What the thread has done since the last look. Judged by its CPU time: a thread that the system has
/// preempted neither computes nor is blocked.
progress_monitor::doing progress_monitor::judge(pool_thread& t, os::ticks now) noexcept {
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
    // Where the kernel does not say: it has not run for 10 ms. On a starved machine it may be ready to.
    bool const stands = state == os::thread_state::unknown && cpu.count() != 0 && used.count() == 0;
    if (state == os::thread_state::sleeps || stands) return doing::blocked;
  }
  return cpu - seen.cpu_then >= std::chrono::microseconds(patience_us) ? doing::computes : doing::something;
}

/// By the monitor. One more thread runs ready tasks.
void progress_monitor::send_relief(relief_order const& order) noexcept {
  pool_thread* t = nullptr;
  if (idle_set_thread* const idle = core_.idle_threads.take_idle()) {
    t = &thread_of(*idle);
    call_for_relief(*t, order);
    t->parker.unpark();
  } else {
    core_.threads.start_relief(order);
  }
}

void progress_monitor::call_for_relief(pool_thread& t, relief_order const& order) noexcept {
  t.relieves = order;
  t.boundaries_then = order.blocked != nullptr ? order.blocked->boundaries.get() : boundaries_of_all_but(&t);
  t.relief.raise(); // read by worker.cpp's sleep() and worker_loop()
}

unsigned progress_monitor::boundaries_of_all_but(pool_thread const* t) const noexcept {
  unsigned n = 0;
  core_.threads.records.for_each_known([&](pool_thread const& other) { // the sum never goes back
    if (&other != t) n += other.boundaries.get();
  });
  return n;
}

/// At a task boundary of a thread that was called for relief: does it go on? Never beside `size()` threads
/// that make progress.
bool progress_monitor::is_relief_wanted(pool_thread const& t, relief_test& last) const noexcept {
  if (t.relieves.blocked == nullptr) return boundaries_of_all_but(&t) == t.boundaries_then;
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
task* progress_monitor::take_event(pool_thread& t) noexcept {
  task* const k = core_.queues.pop(priority::high, class_lane::events);
  if (k == nullptr) return core_.queues.pop_event();
  t.bump(counted::executed_high);
  return k;
}

/// A ready task. In every third turn, the first one too, an event is looked for first, so that a deadline is
/// not behind what computes; in every third what is bound to the seat, so that a flood in neither starves
/// the other tasks. The substitute of a thread that keeps its seat in a blocking region also takes the other
/// work that it hides, as the next thread on the seat would if it had been left.
finding progress_monitor::find_for_relief(pool_thread& t, unsigned turn) noexcept {
  if (t.relieves.events_alone) return {.queued = take_event(t)};
  pool_thread const* const blocked = t.relieves.blocked;
  bool const on_seat = blocked != nullptr && blocked->blocks_on_seat.is_set();
  auto const take_bound = [blocked]() -> task* {
    seat* const s = blocked != nullptr ? blocked->sits_on() : nullptr;
    return s != nullptr ? s->inbox.pop() : nullptr;
  };
  if (turn % 3 == 0)
    if (task* const k = take_event(t)) return {.queued = k};
  if (turn % 3 == 1)
    if (task* const k = take_bound()) return {.queued = k};
  if (core_.queues.any_classed())
    if (task* const k = take_before_normal(core_, t)) return {.queued = k};
  if (core_.size() == 1 &&
      core_.queues.seats() != 0) // what its one worker has taken from the injector comes first
    if (task* const k = core_.queues.seat_at(0).queue.pop()) return {.queued = k};
  if (task* const k = core_.queues.any_normal()) return {.queued = k};
  if (task* const k = take_bound()) return {.queued = k};
  if (on_seat) {
    if (scope_child* const c = take_child(core_, t)) return {.child = c};
    if (steal_result const l = find_latent(core_, t)) return {.latent = l};
  }
  if (task* const k = take(core_, t, priority::high)) return {.queued = k};
  // The extra thread stands beside size() threads that compute: nothing is idle.
  return {.queued = blocked != nullptr ? take(core_, t, priority::low) : take_aged(core_, t)};
}

void progress_monitor::relieve(pool_thread& t) noexcept {
  t.resting = false; // the monitor has counted it as active
  core_.quiescence.thread_began();
  static_cast<void>(pin_to(t, -1)); // it may have been pinned for a copy of a hedged call
  relief_test last;
  for (unsigned turn = 0; is_relief_wanted(t, last); ++turn) {
    finding const f = find_for_relief(t, turn);
    if (!f) break;
    t.counts.bump(counted::relieved);
    t.pass_boundary();
    run_found(core_, t, f);
    t.pass_boundary();
  }
  t.relief.lower();
}

/// A thread that was woken and has not run yet still counts as waiting.
bool progress_monitor::any_woken() const noexcept {
  return core_.threads.records.find(
             0, [](pool_thread& t) { return t.waits_in.get() != nullptr && !t.parker.sleeps(); }) != nullptr;
}

/// Tasks are ready, no thread is left to run them, and every thread waits for the pool's own work. No timer
/// and no descriptor will end a wait: those that have fired are counted until their coroutine runs. A thread
/// outside might still end one: it is no stall yet.
bool progress_monitor::is_jammed() const noexcept {
  return core_.size() != 0 && all_wait() && strange_waits_.get() == 0 &&
         core_.quiescence.how_many_armed() <= core_.queues.ready_events() &&
         core_.threads.no_thread_to_call();
}

/// Tasks are queued. Asks a thread to report if that has been so for a second, in which none has begun or
/// ended anything.
void progress_monitor::look_for_jam(os::ticks now) noexcept {
  std::uint64_t const epoch = this_epoch() + boundaries_of_all_but(nullptr);
  if (!is_jammed()) {
    jammed_since_ = 0;
  } else if (jammed_since_ == 0 || jam_epoch_ != epoch) {
    jam_told_ = jam_told_ && jam_epoch_ == epoch;
    jammed_since_ = now;
    jam_epoch_ = epoch;
  } else if (!jam_told_ && stall_epoch_ != this_epoch() && now - jammed_since_ > jam_us * ticks_per_us() &&
             !any_woken()) {
    jam_told_ = true;
    ask_for_report();
  }
}

/// User code runs in a thread that waits, not on the monitor.
void progress_monitor::ask_for_report() noexcept {
  pool_thread* const t =
      core_.threads.records.find(0, [](pool_thread& w) { return w.waits_in.get() != nullptr; });
  if (t == nullptr) return;
  report_asked_.raise();
  t->parker.unpark();
}

/// Asks a thread to report, if every active thread waits for something that only the pool can complete, and
/// nothing is ready. True: look again.
bool progress_monitor::look_for_stall() noexcept {
  std::uint64_t const epoch = this_epoch();
  if (!is_stuck() || any_woken() || any_latent(core_) ||
      (core_.queues.any_queued() && core_.threads.made() < core_.size() + core_.options().spares_) ||
      stall_epoch_ == epoch) {
    stalled_looks_ = 0;
    return false;
  }
  if (++stalled_looks_ < stalled_looks_enough) return true;
  stalled_looks_ = 0;
  stall_epoch_ = epoch; // once
  ask_for_report();
  return false;
}

void progress_monitor::report() noexcept {
  try {
    stall_report const found = describe_stall();
    if (!core_.options().on_stall_)
      print(found);
    else
      call_handler(core_.options().on_stall_, found);
  } catch (std::bad_alloc const&) {
    static_cast<void>(std::fputs("rubato: a pool has stalled, and there is no memory to say more\n", stderr));
  }
}

stall_report progress_monitor::describe_stall() {
  stall_report report;
  report.pool = core_.options().name_;
  report.ready = core_.queues.size();
  report.suspended = core_.owned.count();
  report.spares_used_up = report.ready != 0 && core_.threads.no_thread_to_call();
  core_.threads.records.for_each([&](pool_thread& t) {
    char const* const why = t.waits_in.get();
    if (why == nullptr) return;
    std::optional<unsigned> runner;
    if (thread_context const* const m = t.waits_for.get()) runner = m->index;
    report.waiters.push_back({t.index, why, runner});
  });
  return report;
}

} // namespace rubato::detail
