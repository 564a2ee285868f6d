#include "sched/core/pool_core.hpp"

#include "os/cpus/topology.hpp"
#include "os/die.hpp"
#include "os/thread.hpp"
#include "rubato/detail/trace/note.hpp"
#include "sched/core/moving_tasks.hpp"
#include "sched/core/outside_waiters.hpp"
#include "sched/core/ready.hpp"
#include "timer/nudge_monitor.hpp"
#include "work/hazard_guard.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace rubato::detail {

namespace {

constexpr std::int64_t default_search_us = 40; // about the cost of a wake: a shorter sleep does not pay

os::ticks search_ticks_of(std::optional<std::chrono::nanoseconds> time) {
  if (!time) return default_search_us * ticks_per_us();
  constexpr double for_ever = 1e18; // ticks: years, and yet now() + for_ever does not overflow
  double const us = static_cast<double>(std::max<std::int64_t>(0, time->count())) / 1000.0;
  return static_cast<os::ticks>(std::min(for_ever, us * static_cast<double>(ticks_per_us())));
}

void check_limits(std::optional<std::size_t> max_queued, unsigned spares) {
  if (max_queued == std::size_t{0})
    throw std::invalid_argument(
        "rubato: max_queued(0) would let nothing be queued; leave it unset for no limit");
  if (max_queued > std::size_t{std::numeric_limits<std::ptrdiff_t>::max()})
    throw std::invalid_argument("rubato: max_queued() of a negative number; leave it unset for no limit");
  if (spares > 1'000'000) throw std::invalid_argument("rubato: at most 1,000,000 spares");
}

/// The CPUs of the seats, in order; empty: not pinned.
std::vector<int> cpu_order(std::vector<int> const& cpus, placement place) {
  if (cpus.empty() && place == placement::free) return {};
  std::vector<int> const usable = os::affinity_cpus();
  for (int const c : cpus)
    if (std::find(usable.begin(), usable.end(), c) == usable.end()) {
      std::string list;
      for (int const u : usable) list += (list.empty() ? "" : ", ") + std::to_string(u);
      throw std::invalid_argument("rubato: CPU " + std::to_string(c) +
                                  " does not exist or this process may not use "
                                  "it; it may use " +
                                  list);
    }
  if (place == placement::free) return cpus;
  return os::placement_order(os::topology("/", cpus.empty() ? usable : cpus),
                             place == placement::numa ? os::placement_policy::numa
                                                      : os::placement_policy::cores);
}

/// Dropping a task may make another ready, which is dropped here too: a list in place of a recursion.
void drop_late(pool_core& core, task* t) noexcept {
  static constinit queue_node end;
  // Null: this thread drops none. One pointer, because memory for initial-exec variables is scarce.
  [[gnu::tls_model("initial-exec")]] static thread_local constinit queue_node* waiting = nullptr;
  bool const is_outermost = waiting == nullptr;
  t->next.store(is_outermost ? &end : waiting, std::memory_order_relaxed); // only this thread has it
  waiting = t;
  if (!is_outermost) return;
  while (waiting != &end) {
    auto& k = *static_cast<task*>(waiting);
    waiting = k.next.load(std::memory_order_relaxed);
    if (k.holds_capacity) core.capacity.release();
    k.exec(k, nullptr);
  }
  waiting = nullptr;
}

void note_ready(task const* t, made_ready how) noexcept {
  note<event_kind::ready>(t, 0, static_cast<unsigned char>(how));
}

} // namespace

pool_core::pool_core(pool& handle, pool_options options)
    : handle_(&handle)
    , options_((check_limits(options.max_queued_, options.spares_), std::move(options)))
    , search_ticks_(search_ticks_of(options_.search_time_))
    , cpu_order_(cpu_order(options_.cpus_, options_.place_))
    , queues(max_workers)
    , threads(*this, max_workers + options_.spares_ + thread_registry::max_guests)
    , capacity(*this, life, options_.max_queued_)
    , quiescence(*this, life, queues, idle_threads)
    , waits(*this)
    , notes(max_workers)
    , owned(this)
    , registered(*this) {}

void pool_core::check(pool_options const& options) {
  check_limits(options.max_queued_, options.spares_);
  static_cast<void>(cpu_order(options.cpus_, options.place_));
}

void pool_core::add_seats(unsigned n) {
  for (unsigned i = queues.seats(); i < n; ++i)
    queues.add_seat(cpu_order_.empty() ? -1 : cpu_order_[i % cpu_order_.size()]);
}

pool_core::~pool_core() {
  if (life.is_abandoned()) return;
  pools_of_process.remove(registered); // from now on no thread finds it, and so none begins a hazard guard
  await_hazards(*this);
  drop_last(*this);
  threads.await_guests();
}

seat* pool_core::vacate(pool_thread& t, leaving how, bool searching) noexcept {
  if (seat* const s = t.sits_on()) queues.flush_lifo_slot(*s);
  return static_cast<seat*>(idle_threads.vacate(t, how, searching));
}

pool_stats pool_core::stats() const {
  pool_stats all;
  all.name = name();
  // The seats are read first. bump() counts in the thread first. So the seats' sum never exceeds the total.
  unsigned const n = size();
  for (unsigned i = 0; i != n && i != queues.seats(); ++i) {
    seat_stats s;
    queues.seat_at(i).counts.add_to(s);
    all.seats.push_back(s);
  }
  threads.records.for_each_known([&](pool_thread& t) {
    t.counts.add_to(all);
    all.contended += t.counts[counted::contended];
    all.priorities[static_cast<std::size_t>(priority::high)].executed += t.counts[counted::executed_high];
    all.priorities[static_cast<std::size_t>(priority::low)].executed += t.counts[counted::executed_low];
  });
  unsigned const made = threads.made();
  all.spares = made > n ? made - n : 0;
  // A loser may be counted off before the decider has counted it.
  all.stragglers = static_cast<std::size_t>(std::max(0, stragglers.load(std::memory_order_relaxed)));
  all.queued = queues.size();
  priority_stats normal{.executed = all.executed, .queued = all.queued};
  for (priority const c : {priority::high, priority::low}) {
    priority_stats& of = all.priorities[static_cast<std::size_t>(c)];
    of.queued = queues.by_priority().size(c);
    normal.executed -= std::min(normal.executed, of.executed);
    normal.queued -= std::min(normal.queued, of.queued);
  }
  all.priorities[static_cast<std::size_t>(priority::normal)] = normal;
  all.timers = quiescence.timers_fired();
  return all;
}

/// By the occupant. False: that is no event, because the backlog was not empty.
bool pool_core::push_own(pool_thread& me, seat& s, task* t) noexcept {
  // With one worker everything runs in the order in which it was queued. With more, all threads push to the
  // injector, and only this one to the seat's own queue. Guarantee F keeps both queues from starving.
  if (size() == 1 && task_queues::is_owner(s) && queues.push_to_backlog(s, t)) return false;
  if ((size() <= 1 && !queues.injector_empty()) || !s.queue.push(t))
    queues.push_from(s, t);
  else if (me.local_since == 0)
    me.local_since = os::now();
  return true;
}

void pool_core::enqueue(task* t) noexcept {
  if (life.drops_everything()) {
    drop_late(*this, t);
    return;
  }
  note_ready(t, made_ready::queued);
  if (current->core != this) {
    hazard_guard const here(*this); // the task may run, and the pool end, at any moment from now on
    queues.push(t);
    notify();
    return;
  }
  pool_thread& me = thread_of(*current);
  me.bump(counted::spawned);
  seat* const s = me.sits_on();
  if (s == nullptr || s->personal)
    queues.push(t);
  else if (!push_own(me, *s, t))
    return;
  notify();
}

void pool_core::enqueue_as(priority c, task* t, priority_lane l) noexcept {
  if (life.drops_everything()) {
    drop_late(*this, t);
    return;
  }
  outside_guard const here(*this); // as in enqueue()
  note_ready(t, l == priority_lane::events ? made_ready::event : made_ready::queued);
  if (current->core == this && l == priority_lane::tasks) thread_of(*current).bump(counted::spawned);
  queues.push(t, c, l, c == priority::low ? os::now() : 0);
  notify();
}

void pool_core::enqueue_for(seat& s, task* t) noexcept {
  note_ready(t, made_ready::bound);
  s.inbox.push(t);
  unpark_worker(&s, true);
  // unpark_worker() takes the idle set's lock before or after close() does. Before: the thread that closes
  // the seat empties it afterwards, and finds the task. After: the seat is seen closed here. If it is below
  // the size, it is about to be opened: open_seats() then unparks a thread for its inbox.
  if (s.closed.load(std::memory_order_relaxed) && s.index >= size()) retire_seat(s);
  nudge_monitor();
}

void pool_core::enqueue_on(unsigned seat_index, task* t) noexcept {
  outside_guard const here(*this);
  unsigned const n = size();
  if (n == 0) // there is no seat: a thread that drives the pool runs it
    enqueue(t);
  else
    enqueue_for(queues.seat_at(seat_index % n), t);
}

void pool_core::enqueue_next(task* t) noexcept {
  seat* const s = current->core == this ? thread_of(*current).sits_on() : nullptr;
  if (s == nullptr || s->personal) {
    // Relief may run an event, and what that makes ready is as urgent. A thread without a seat has no LIFO
    // slot, and the injector may be long.
    if (current->core == this && thread_of(*current).relief.is_raised())
      enqueue_event(t);
    else
      enqueue(t);
    return;
  }
  pool_thread& me = thread_of(*current);
  note_ready(t, made_ready::direct);
  me.bump(counted::spawned);
  // No event, as with latent work: the caller runs it next. Searchers and the monitor look after it if the
  // caller goes on for long. put() pairs with any_lifo_slot(): the monitor announces its sleep before it
  // looks at the slots.
  if (task* const before = s->lifo_slot.put(t)) {
    if (push_own(me, *s, before)) notify();
  } else {
    nudge_monitor();
  }
}

bool pool_core::send_aside(task& t, int cpu) noexcept {
  note_ready(&t, made_ready::aside);
  outside_guard const here(*this); // as in enqueue()
  idle_set_thread* const idle = idle_threads.take_idle(cpu);
  if (idle == nullptr) return threads.start_aside(t);
  pool_thread& to = thread_of(*idle);
  static_cast<void>(to.aside.put(&t)); // it was empty: an idle thread has nothing else to run
  to.parker.unpark();
  return true;
}

void pool_core::notify() noexcept {
  switch (idle_threads.wanted()) {
  case idle_set::want::worker:
    unpark_worker(); // the worker tells the monitor in its turn, if it leaves work behind
    break;
  case idle_set::want::none: // a searcher will look again
    break;
  case idle_set::want::monitor:
    nudge_monitor();
  }
  // Without workers, a thread that waits for idleness runs the tasks. seq_cst: pairs with `announcement`,
  // because that thread looks at the queues after it has announced itself.
  if (size() == 0 && quiescence.is_awaited()) quiescence.notify_all();
  if (size() == 0) unpark_outside_drivers(*this);
}

void pool_core::retire_seat(seat& s) noexcept {
  moving_tasks const moving(*this);
  queues.retire(s);
}

void pool_core::after_vacating(seat* s) noexcept {
  // The thread that closed the seat may have emptied it before this thread left.
  if (s != nullptr && !s->personal && s->closed.load(std::memory_order_relaxed)) retire_seat(*s);
  unpark_for_inboxes();
  if (queues.any_shared() || any_child(*this)) // no worker may be left for the children of a scope
    notify();
  else if (idle_threads.active() != 0 && !waits.all_wait())
    nudge_monitor(monitor_rest::light); // a busy thread may have latent work that no thread was told of
  waits.nudge_if_stuck();
  quiescence.notify_if_quiet();
}

/// For tasks that must run on a given seat: there may have been no thread for it before.
void pool_core::unpark_for_inboxes() noexcept {
  for (unsigned i = 0, n = queues.seats(); i != n; ++i)
    if (seat& s = queues.seat_at(i); !s.inbox.empty()) unpark_worker(&s, true);
}

void pool_core::unpark_worker(seat* wanted, bool always) noexcept {
  pool_thread* const caller = current->core == this ? &thread_of(*current) : nullptr;
  idle_set::call const c = idle_threads.unpark_for_seat(wanted, always, os::current_cpu(), caller);
  if (c && c.sleeper == nullptr) threads.start(c);
}

void pool_core::unhandled(std::exception_ptr e) noexcept {
  if (life.is_ending() && is_cancelled(e)) return; // the end of the pool has ended a wait of the task
  if (options_.on_unhandled_) {
    try {
      options_.on_unhandled_(std::move(e));
    } catch (...) {
      os::die("on_unhandled threw, and no caller is left to tell");
    }
    return;
  }
  std::string what = "an exception that is no std::exception";
  try {
    std::rethrow_exception(std::move(e));
  } catch (std::exception const& x) {
    what = x.what();
  } catch (...) { // NOLINT(bugprone-empty-catch): `what` says so
  }
  os::die("a task threw: " + what + "; catch it in the task or set pool_options::on_unhandled");
}

void unhandled(pool_core& c, std::exception_ptr e) noexcept { c.unhandled(std::move(e)); }
bool handles_failures(pool_core const& c) noexcept { return c.handles_failures(); }
void unhandled(thread_context& runner) noexcept { runner.core->unhandled(std::current_exception()); }

void queue_task(pool_core& core, std::uint16_t seat, priority c, task& entry, made_ready_by cause) noexcept {
  if (seat != future_state::any_seat)
    core.enqueue_on(seat, &entry);
  else if (c != priority::normal || cause == made_ready_by::event)
    core.enqueue_as(c, &entry, cause == made_ready_by::event ? priority_lane::events : priority_lane::tasks);
  else if (cause == made_ready_by::task)
    core.enqueue_next(&entry);
  else
    core.enqueue(&entry);
}

bool has_free_worker(pool_core const& c) noexcept {
  return c.idle_threads.wanted() != idle_set::want::monitor || c.size() == 0;
}

void queue(pool_core& c, task* t, priority p) noexcept {
  if (p == priority::normal)
    c.enqueue(t);
  else
    c.enqueue_as(p, t);
}
void notify(pool_core& c) noexcept { c.notify(); }
void unpark_for_inboxes(pool_core& c) noexcept { c.unpark_for_inboxes(); }
void unpark_worker(pool_core& c) noexcept { c.unpark_worker(); }
void retire_seat(pool_core& c, seat& s) noexcept { c.retire_seat(s); }
void give_up_seat(pool_core& c, pool_thread& t, leaving how, bool searching) noexcept {
  left_seat left(c);
  left.vacate(t, how, searching);
}
void release_capacity(pool_core& c) noexcept { c.capacity.release(); }
void leave_owned_tasks(pool_core& c, owned_task& r) noexcept {
  c.owned.remove(r);
  c.quiescence.notify_if_quiet();
}
void left_waiting_routines(pool_core& c, waiting_routine const* r) noexcept {
  c.routines.left(r);
  c.quiescence.notify_if_quiet();
}

bool is_discarding(pool_core const& c) noexcept { return c.life.is_discarding(); }
bool is_closed(pool_core const& c) noexcept { return c.life.is_closed(); }
std::stop_token current_token(thread_context& me) {
  if (me.core == nullptr) return {}; // blocking() outside any pool
  stop_scope const* const s = scope_of_token(me.chain.token());
  std::stop_token const outermost = me.core->life.stop_token();
  return s != nullptr ? s->token(outermost) : outermost;
}

unsigned size_of(pool_core const& c) noexcept { return c.size(); }
std::uint64_t serial_of(pool_core const& c) noexcept { return c.registered.serial; }
pool& handle_of(pool_core& c) noexcept { return c.handle(); }
pool_options const& options_of(pool_core const& c) noexcept { return c.options(); }
life_state& life_of(pool_core& c) noexcept { return c.life; }
life_state const& life_of(pool_core const& c) noexcept { return c.life; }
task_queues& queues_of(pool_core& c) noexcept { return c.queues; }
task_queues const& queues_of(pool_core const& c) noexcept { return c.queues; }
capacity& capacity_of(pool_core& c) noexcept { return c.capacity; }
thread_registry& threads_of(pool_core& c) noexcept { return c.threads; }
record_table const& records_of(pool_core const& c) noexcept { return c.threads.records; }
pool_thread const& external_scopes_of(pool_core const& c) noexcept { return c.external_scopes; }
idle_set& idle_threads_of(pool_core& c) noexcept { return c.idle_threads; }
quiescence& quiescence_of(pool_core& c) noexcept { return c.quiescence; }
waits& waits_of(pool_core& c) noexcept { return c.waits; }
owned_tasks& owned_tasks_of(pool_core& c) noexcept { return c.owned; }
waiting_routines& waiting_routines_of(pool_core& c) noexcept { return c.routines; }

} // namespace rubato::detail
