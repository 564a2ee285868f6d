#include "rubato/detail/sched/wait/await.hpp"

#include "rubato/cancelled.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/brief_wait.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/trace/note.hpp"
#include "sched/core/outside_waiters.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/core/pool_registry.hpp"
#include "sched/core/ready.hpp"
#include "sched/run/claim.hpp"
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

/// A guest that only waits has to leave: the pool ends, and has nothing for it to run. A closed pool may be
/// driven, like one without workers.
bool turns_guests_away(pool_core const& core) noexcept {
  return core.life.is_destroyed() || (core.life.has_begun_to_end() && !has_ready(core));
}

/// Is the pool one that only waiters drive? It may be gone, or null.
bool is_driven_by_waiters(pool_core* core) noexcept {
  std::optional<hazard_guard> here;
  return core != nullptr && guard_if_there(core, here) && life_of(*core).size() == 0;
}

/// Is something ready in such a pool? It may be gone, or null.
bool wants_driver(pool_core* core) noexcept {
  std::optional<hazard_guard> here;
  return core != nullptr && guard_if_there(core, here) && life_of(*core).size() == 0 &&
         !turns_guests_away(*core) && has_ready(*core);
}

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
    if (core == nullptr || !guard_if_there(core, here) || turns_guests_away(*core)) return;
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
    return (as_guest && turns_guests_away(core)) || terms.lost_before != workers_lost();
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
  using ended_by = waits::ended_by;
  bool const from_strangers = timed || s.home() != &core || s.is_promised();
  counted_wait const counted(core.waits, from_strangers ? ended_by::strangers
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
  if (terms.driven == nullptr && s.home() != nullptr)
    spin(outside_spin_us * ticks_per_us(), [&] { return s.done(); });
  outside_waiter self;
  listed_outside const listed(terms.driven, self.bell());
  if (!s.waiters.add(self)) return;
  note<event_kind::wait>(terms.why, s.begun_by.get());
  if (terms.lost_before == workers_lost() && !wants_driver(terms.driven))
    static_cast<void>(self.bell().park_until(terms.deadline));
  if (s.done() || !s.waiters.remove(self)) self.await_firing();
  note<event_kind::wait_over>(terms.why);
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

bool await(future_state& s, char const* why) noexcept {
  return await_anywhere(s, {.why = why, .stop = scope_in_force()});
}

void await_end(future_state& s, char const* why) noexcept {
  static_cast<void>(await_anywhere(s, {.why = why, .ends_early = false}));
}

bool await_until(future_state& s, std::chrono::steady_clock::time_point deadline) noexcept {
  return await_anywhere(s, {.why = "timed wait", .deadline = deadline, .stop = scope_in_force()});
}

bool await_in_task_until(future_state& s, std::chrono::steady_clock::time_point deadline) {
  if (!s.done() && wait_terms{.why = "timed wait", .stop = scope_in_force()}.is_stopped()) throw cancelled();
  return await_until(s, deadline);
}

bool was_lost_in_fork(future_state const& s) noexcept {
  pool_core const* const home = s.home();
  return !s.done() && home != nullptr && home != current->core && was_left_behind(home);
}

} // namespace rubato::detail
