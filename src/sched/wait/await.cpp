#include "sched/wait/await.hpp"

#include "rubato/cancelled.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/brief_wait.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/work/future_state.hpp"
#include "sched/core/outside_waiters.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/core/pool_registry.hpp"
#include "sched/run/search.hpp"
#include "sched/wait/park.hpp"
#include "work/hazard_guard.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <optional>
#include <utility>

namespace rubato::detail {

namespace {

constexpr unsigned most_claims = 64; // nested in each other on one stack

/// Claimed work stays in its queue, stale, until a thread pops it. A task that spawns and waits without end
/// would leave ever more, so the thread sweeps its queues once the stale tasks may be as many as the rest.
void sweep(pool_core& core, pool_thread& t) noexcept {
  if (++t.stale < t.stale_enough) return;
  t.stale = 0;
  seat* const s = t.sits_on();
  std::size_t left = 0;
  {
    auto const moving = core.quiescence.begin_transit();
    auto const sweep_queue = [&](std::size_t n, auto pop, auto push) { // each of its tasks once
      for (; n != 0; --n) {
        task* const k = pop();
        if (k == nullptr) break;
        if (drop_stale_task(*k, core)) continue;
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
      // What stays is as old as a new task afterwards: low tasks of others must not pay for that.
      if (c == priority::low && std::exchange(t.stale_low, 0) < pool_thread::stale_at_least) continue;
      for (class_lane const l : {class_lane::tasks, class_lane::events})
        sweep_queue(
            core.queues.classes().size(c, l), [&] { return core.queues.pop(c, l); },
            [&](task* k) { core.queues.push(k, c, l, os::now()); });
    }
  }
  t.stale_enough = std::max(pool_thread::stale_at_least, left);
  if (left != 0) core.notify();
  core.quiescence.tell_waiters();
}

} // namespace

bool may_run_in_place(pool_core const& core, pool_thread const& t, future_state const& s) noexcept {
  return s.queued.is_ready() && s.home() == &core && t.claims < most_claims &&
         s.seat.get() == future_state::any_seat;
}

namespace {

/// The caller is to run it. False: it is not ready, or has moved.
bool claim_in_place(pool_core& core, pool_thread& t, future_state& s) noexcept {
  if (!may_run_in_place(core, t, s)) return false;
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

/// `raised`: by its second entry, which run_task() has counted.
void run_claimed(pool_core& core, pool_thread& t, future_state& s, bool raised) noexcept {
  if (core.life.is_discarding() && !s.has_begun()) {
    s.drop();
  } else {
    if (!raised) t.bump(counted::executed);
    if (s.queued.was_low()) ++t.stale_low;
    ++t.claims;
    s.begun_by.set(t.index + 1);
    s.resume(t);
    --t.claims;
  }
  sweep(core, t);
}

} // namespace

bool run_in_place(pool_core& core, pool_thread& t, future_state& s) noexcept {
  if (!claim_in_place(core, t, s)) return false;
  run_claimed(core, t, s, false);
  return true;
}

namespace {

/// Stands in a queue for work whose own entry is in a queue of a lower class, or of a pool that it has left.
/// Claims it as a waiter does; does nothing if it is not ready any more.
class second_entry final : public task {
  future_state& of_; // held

  static void run(task& base, thread_context* runner) noexcept {
    auto& self = static_cast<second_entry&>(base);
    state_ref const held(&self.of_);
    free_in_slab(&self);
    if (runner == nullptr) return;
    pool_core& core = *runner->core;
    pool_thread& t = thread_of(*runner);
    if (claim_in_place(core, t, *held.get())) run_claimed(core, t, *held.get(), true);
  }

public:
  explicit second_entry(future_state& s) noexcept
      : task(&run)
      , of_(s) {
    s.hold();
  }
};

} // namespace

void queue_second_entry(future_state& s) noexcept {
  pool_core* const home = s.home();
  std::optional<hazard_guard> there;
  if (!guard_if_there(home, there)) return;
  try {
    queue_task(*home, future_state::any_seat, s.queued.cls(), *make_in_slab<second_entry>(s));
  } catch (std::bad_alloc const&) { // NOLINT(bugprone-empty-catch): it stays where it is queued
  }
}

namespace {

/// How a thread waits for a result.
struct wait_terms {
  char const* why; ///< for reports
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  stop_scope* stop = nullptr; ///< its request ends the wait
  bool ends_early = true;     ///< by that request, or when a pool discards the task that the thread runs
  // Set anew for each search for a pool to drive.
  pool_core* driven = nullptr;   ///< has no workers, and may be gone; null: there is none
  std::uint64_t lost_before = 0; ///< workers_lost() before that search

  [[nodiscard]] bool is_stopped() const noexcept {
    return ends_early && (discarded(*current) || (stop != nullptr && stop->stop_requested()));
  }
  [[nodiscard]] bool is_over() const noexcept {
    return is_stopped() || std::chrono::steady_clock::now() >= deadline;
  }
};

/// A thread's entry in a future's list of waiters; it stays in its frame until it has been fired or removed.
class thread_waiter : public future_waiter {
  flag fired_;

protected:
  using future_waiter::future_waiter;
  /// The frame may be gone right afterwards.
  void set_fired() noexcept { fired_.raise(); }

public:
  [[nodiscard]] bool was_fired() const noexcept { return fired_.is_raised(); }
  /// It could not be removed: it is being fired at this moment.
  void await_firing() const noexcept {
    wait_briefly<std_policy>([this] { return was_fired(); });
  }
};

/// Ends a thread's wait when the task that it runs is stopped.
class stop_alarm final : public stop_listener {
  stop_scope* scope_; // null: nothing stops it
  pool_thread& thread_;
  flag rung_;

  void stop_requested() noexcept override {
    rung_.raise();
    thread_.parker.unpark();
  }

public:
  stop_alarm(stop_scope* s, pool_thread& t) noexcept
      : scope_(s)
      , thread_(t) {
    if (scope_ == nullptr || scope_->add(*this)) return;
    scope_ = nullptr;
    rung_.raise();
  }
  ~stop_alarm() {
    if (scope_ != nullptr) scope_->remove(*this);
  }
  [[nodiscard]] bool rung() const noexcept { return rung_.is_raised(); }
};

/// A thread of a pool, on its parker.
class inside_waiter final : public thread_waiter {
  pool_thread& thread_;
  static void wake(future_waiter& base, completions& /*more*/) noexcept {
    auto& self = static_cast<inside_waiter&>(base);
    pool_thread& t = self.thread_; // lives as long as the pool, which is the caller's own or guarded
    outside_guard const here(*t.core);
    self.set_fired();
    t.parker.unpark();
  }

public:
  explicit inside_waiter(pool_thread& t) noexcept
      : thread_waiter(&wake)
      , thread_(t) {}
};

/// A thread outside any pool, on a parker in its frame.
class outside_waiter final : public thread_waiter {
  parker parker_;

  static void wake(future_waiter& base, completions& /*more*/) noexcept {
    auto& self = static_cast<outside_waiter&>(base);
    self.parker_.unpark();
    self.set_fired(); // last: the parker goes with the frame
  }

public:
  outside_waiter() noexcept
      : thread_waiter(&wake) {}
  [[nodiscard]] parker& bell() noexcept { return parker_; }
};

/// Makes the calling thread a guest of the pool for as long as it waits, unless the pool is gone, is about to
/// end, or has too many guests.
class guest {
  thread_context* const before_ = current;
  pool_thread* mine_ = nullptr;

public:
  explicit guest(pool_core* core) noexcept {
    std::optional<hazard_guard> here;
    if (core == nullptr || !guard_if_there(core, here) || core->life.turns_guests_away()) return;
    try {
      mine_ = core->threads.enter();
    } catch (std::exception const&) { // too many, or no memory: the thread waits outside
      return;
    }
    mine_->outer = before_;
    current = mine_;
  }
  guest(guest const&) = delete;
  ~guest() {
    if (mine_ == nullptr) return;
    current = before_;
    mine_->core->threads.leave(*mine_);
  }
  [[nodiscard]] pool_thread* thread() const noexcept { return mine_; }
};

/// Waits on a thread of this pool, until the wait is over, or what the thread must drive may have changed.
void await_in_pool(pool_core& core, pool_thread& t, future_state& s, wait_terms const& terms,
                   bool as_guest = false) noexcept {
  bool const timed = terms.deadline != std::chrono::steady_clock::time_point::max();
  auto const looks_anew = [&] {
    return (as_guest && core.life.turns_guests_away()) || terms.lost_before != workers_lost();
  };
  if (!timed && !as_guest && run_in_place(core, t, s) && s.done()) return;
  if (core.size() != 0)
    spin(core.search_ticks(), [&] { return s.done(); });
  else // no other thread will run it
    while (core.size() == 0 && !s.done() && !looks_anew() && !terms.is_over() && run_one(core, t)) {
    }
  stop_alarm const alarm(terms.ends_early ? terms.stop : nullptr, t);
  inside_waiter self(t);
  if (!s.waiters.add(self)) return;
  auto const fired = [&] { return self.was_fired(); };
  auto const over = [&] {
    return alarm.rung() || (terms.ends_early && discarded(t)) ||
           (timed && std::chrono::steady_clock::now() >= terms.deadline);
  };
  // Only a closure in this pool's queues or on its stacks is sure to be ended by the pool alone, not by a
  // thread outside or the clock.
  bool const from_outside = timed || s.home() != &core || !s.runs_to_end();
  using ended_by = progress_monitor::ended_by;
  bool const from_strangers = timed || s.home() != &core || s.is_promised();
  counted_wait const counted(core.progress, from_strangers ? ended_by::strangers
                                            : from_outside ? ended_by::outsiders
                                                           : ended_by::the_pool);
  std::uint32_t const begun_by = from_outside ? 0 : s.begun_by.get(); // for reports
  thread_context const* const runner = begun_by != 0 ? core.threads.records.at(begun_by - 1) : nullptr;
  park_until(t, terms.why, runner, [&] { return fired() || over() || looks_anew(); }, terms.deadline);
  if (!fired() && !s.waiters.remove(self)) self.await_firing();
}

/// The pool without workers that the thread drives while it waits: that of a pending input, which comes
/// first, or of the result. Null: there is none. O(pending inputs).
pool_core* pool_to_drive(future_state& s) noexcept {
  for (std::size_t next = 0;;) {
    state_ref const input(s.pending_input(next));
    if (!input) return is_driven_by_waiters(s.home()) ? s.home() : nullptr;
    if (pool_core* const of_input = input->home(); is_driven_by_waiters(of_input)) return of_input;
  }
}

/// Waits as a guest of the pool that the thread drives, until the wait is over, or there may be something
/// else to drive. False: the pool takes no guests.
bool await_as_guest(future_state& s, wait_terms const& terms) noexcept {
  // The seat of the calling thread must not stay taken while it drives another pool.
  pool_thread* const t = current->core != nullptr ? &thread_of(*current) : nullptr;
  seat* const left = t != nullptr ? leave_seats(*t) : nullptr;
  bool was_guest = false;
  {
    guest const g(terms.driven);
    if (pool_thread* const in = g.thread()) {
      was_guest = true;
      await_in_pool(*in->core, *in, s, terms, true);
    }
  }
  if (t != nullptr) return_to_seats(*t, left);
  return was_guest;
}

// NOLINTBEGIN(clang-analyzer-core.StackAddressEscape): its destructor takes the waiter out of the list
/// Waits on a thread that belongs to no pool, until the wait is over, or there may be something to drive.
void await_outside(future_state& s, wait_terms const& terms) noexcept {
  constexpr std::int64_t spin_us = 20; // less than a wake costs
  if (terms.driven == nullptr && s.home() != nullptr)
    spin(spin_us * ticks_per_us(), [&] { return s.done(); });
  outside_waiter self;
  listed_outside const listed(terms.driven, self.bell());
  if (!s.waiters.add(self)) return;
  if (terms.lost_before == workers_lost() && !wants_driver(terms.driven))
    static_cast<void>(self.bell().park_until(terms.deadline));
  if (s.done() || !s.waiters.remove(self)) self.await_firing();
}
// NOLINTEND(clang-analyzer-core.StackAddressEscape)

void await_here(future_state& s, wait_terms const& terms) noexcept {
  if (current->core != nullptr)
    await_in_pool(*current->core, thread_of(*current), s, terms);
  else
    await_outside(s, terms);
}

bool await_anywhere(future_state& s, wait_terms terms) noexcept {
  for (;;) {
    if (s.done()) return true;
    terms.lost_before = workers_lost(); // before the search for a pool to drive
    pool_core* const owner = s.home();
    if (owner != nullptr && owner != current->core && was_left_behind(owner)) { // by fork(), in the parent
      s.give_up();
      return true;
    }
    // relaxed: a pool that loses its workers later counts that, and wakes the waiters.
    terms.driven = workerless_pools.get() != 0 ? pool_to_drive(s) : nullptr;
    bool const elsewhere = terms.driven != nullptr && terms.driven != current->core;
    if (!elsewhere || !await_as_guest(s, terms)) await_here(s, terms);
    if (s.done()) return true;
    if (terms.is_over()) return false;
  }
}

} // namespace

bool future_state::wait(char const* why) noexcept {
  return await_anywhere(*this, {.why = why, .stop = scope_in_force()});
}

void future_state::wait_to_end(char const* why) noexcept {
  static_cast<void>(await_anywhere(*this, {.why = why, .ends_early = false}));
}

bool future_state::wait_until(std::chrono::steady_clock::time_point deadline) noexcept {
  return await_anywhere(*this, {.why = "timed wait", .deadline = deadline, .stop = scope_in_force()});
}

bool future_state::wait_in_task_until(std::chrono::steady_clock::time_point deadline) {
  if (!done() && wait_terms{.why = "timed wait", .stop = scope_in_force()}.is_stopped()) throw cancelled();
  return wait_until(deadline);
}

} // namespace rubato::detail
