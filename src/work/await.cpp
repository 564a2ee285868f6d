// How a thread waits for a result: it runs the work itself, leaves its seat, drives the pool, or just sleeps.
// docs/design/futures.md
#include "rubato/detail/future_state.hpp"
#include "rubato/detail/mutex.hpp"
#include "work/park.hpp"
#include "work/pool_core.hpp"
#include "work/rover.hpp"
#include "work/visit.hpp"
#include "work/watch.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

namespace rubato::detail {

namespace {

constexpr unsigned most_claims = 64; // nested in each other on one stack

/// A thread that waits; it stays in its frame until it has been fired or removed.
class thread_waiter : public future_waiter {
  std::atomic<bool> fired_{false};

protected:
  using future_waiter::future_waiter;
  /// release: pairs with was_fired(). The frame may be gone right afterwards.
  void set_fired() noexcept { fired_.store(true, std::memory_order_release); }

public:
  [[nodiscard]] bool was_fired() const noexcept { return fired_.load(std::memory_order_acquire); }
  /// It could not be removed: it is being fired at this moment.
  void await_firing() const noexcept {
    while (!was_fired()) std::this_thread::yield();
  }
};

/// Ends a thread's wait when what it runs is stopped.
class stop_alarm final : public stop_listener {
  stop_scope* scope_; // null: nothing stops it
  pool_thread& thread_;
  std::atomic<bool> rung_{false};

  void stop_requested() noexcept override {
    rung_.store(true, std::memory_order_release); // pairs with rung()
    thread_.parker.unpark();
  }

public:
  stop_alarm(stop_scope* s, pool_thread& t) noexcept
      : scope_(s)
      , thread_(t) {
    if (scope_ == nullptr || scope_->add(*this)) return;
    scope_ = nullptr;
    rung_.store(true, std::memory_order_relaxed); // nobody else has it
  }
  stop_alarm(stop_alarm const&) = delete;
  stop_alarm& operator=(stop_alarm const&) = delete;
  ~stop_alarm() {
    if (scope_ != nullptr) scope_->remove(*this);
  }
  [[nodiscard]] bool rung() const noexcept {
    return rung_.load(std::memory_order_acquire); // pairs with stop_requested()
  }
};

/// A thread of a pool, on its parker.
class inside_waiter final : public thread_waiter {
  pool_thread& thread_;
  static void wake(future_waiter& base, completions& /*more*/) noexcept {
    auto& self = static_cast<inside_waiter&>(base);
    pool_thread& t = self.thread_; // lives as long as the pool, which is ours or visited
    std::optional<visit> here;
    if (current->core != t.core) here.emplace(*t.core);
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

/// Becomes a guest of the pool for as long as it waits; not, if the pool is gone, ends or is full.
class guest {
  member* const before_ = current;
  pool_thread* mine_ = nullptr;

public:
  explicit guest(pool_core* core) noexcept {
    std::optional<visit> here;
    if (core == nullptr || !visit_if_there(core, here) || core->is_leaving_guests()) return;
    try {
      mine_ = core->enter(true);
    } catch (std::exception const&) { // too many, or no memory: it waits outside
      return;
    }
    mine_->outer = before_;
    current = mine_;
  }
  guest(guest const&) = delete;
  guest& operator=(guest const&) = delete;
  ~guest() {
    if (mine_ == nullptr) return;
    current = before_;
    mine_->core->leave_pool(*mine_);
  }
  [[nodiscard]] pool_thread* thread() const noexcept { return mine_; }
};

/// Tells those who look for circles.
class says_what_it_awaits {
  pool_thread& thread_;
  future_state* const outer_; // it waits for that below, and runs some of it

public:
  says_what_it_awaits(pool_thread& t, future_state* s) noexcept
      : thread_(t)
      , outer_(t.awaits.clear()) {
    if (s == nullptr) return;
    t.awaits.set(*s);
    look_for_circle(t, *s);
  }
  says_what_it_awaits(says_what_it_awaits const&) = delete;
  says_what_it_awaits& operator=(says_what_it_awaits const&) = delete;
  ~says_what_it_awaits() {
    thread_.awaits.clear();
    if (outer_ != nullptr) thread_.awaits.set(*outer_);
  }
};

template<class Done>
void spin(os::ticks how_long, Done done) noexcept {
  os::ticks const until = os::now() + how_long;
  while (!done() && os::now() < until)
    for (unsigned i = 0; i != 16 && !done(); ++i) std_policy::pause();
}

} // namespace

bool pool_core::may_claim(pool_thread const& t, future_state const& s, bool stranded) const noexcept {
  return (s.entry.is_ready() || s.is_ready_elsewhere()) && s.home() == this &&
         (stranded || (t.claims < most_claims && s.seat == future_state::any_seat));
}

bool pool_core::claim(pool_thread& t, future_state& s, bool stranded) noexcept {
  if (!may_claim(t, s, stranded)) return false;
  std::uint16_t const seat = s.seat;
  switch (s.entry.claim()) {
  case ticket::claimed::no:
    if (!s.claim_elsewhere()) return false;
    break;
  case ticket::claimed::first:
    s.hold(); // the queue's
    break;
  case ticket::claimed::again:
    break;
  }
  // In between a coroutine may have run, and moved. It is ours now, and so stays where it is.
  if (s.home() != this || (!stranded && s.seat != seat)) {
    offer(s);
    return false;
  }
  t.bump(counted::executed);
  ++t.claims;
  s.begun_by.store(t.index + 1, std::memory_order_relaxed);
  s.resume(t);
  --t.claims;
  sweep(t);
  return true;
}

/// Entries that were claimed stay in their queues until somebody comes across them; a task that spawns and
/// waits without end would leave ever more. So they are looked for once they may be as many as the others.
void pool_core::sweep(pool_thread& t) noexcept {
  if (++t.stale < t.stale_enough) return;
  t.stale = 0;
  seat* const s = t.sits_on();
  std::size_t left = 0;
  {
    in_transit const moving(*this);
    auto const keep = [this](task* k) { return !drop_stale_entry(*k, *this); };
    for (std::size_t n = s != nullptr ? s->queue.size() : 0; n != 0; --n) {
      task* const k = s->queue.pop();
      if (k == nullptr) break;
      if (!keep(k)) continue;
      ++left;
      if (!s->queue.push(k)) push_entry(k);
    }
    for (std::size_t n = queued_at_entry(); n != 0; --n) { // those of the entry, once round
      task* const k = pull(nullptr);
      if (k == nullptr) break;
      if (!keep(k)) continue;
      ++left;
      push_entry(k);
    }
  }
  t.stale_enough = std::max(pool_thread::stale_at_least, left);
  if (left != 0) notify();
  on_quiet();
}

bool pool_core::await(pool_thread& t, future_state& s, wait_terms& terms, bool as_guest) noexcept {
  bool const timed = terms.deadline != std::chrono::steady_clock::time_point::max();
  rover roams(s, this, t.parker);
  auto const leaves = [&] {
    return (as_guest && is_leaving_guests()) || roams.is_wanted(t.counts[counted::executed]);
  };
  if (!timed && !as_guest && claim(t, s) && s.done()) return true;
  if (size() != 0)
    spin(search_ticks_, [&] { return s.done(); });
  else // nobody else will
    while (size() == 0 && !s.done() && !leaves() && !terms.is_over() && run_one(t)) {
    }
  stop_alarm const alarm(terms.stop, t);
  inside_waiter self(t);
  t.may_give_up.store(giving_up::no, std::memory_order_relaxed); // it was of another wait
  if (!s.waiters.add(self)) return true;
  auto const fired = [&] { return self.was_fired(); };
  auto const expired = [&] {
    // acquire: pairs with held_up().
    if (t.may_give_up.load(std::memory_order_acquire) == giving_up::if_promised) {
      promised const by = waits_for_promises(s);
      terms.given_up = by == promised::all || is_in_circle(t, s);
      t.may_give_up.store(by == promised::some ? giving_up::later : giving_up::no, std::memory_order_relaxed);
    }
    return terms.given_up || alarm.rung() || (timed && std::chrono::steady_clock::now() >= terms.deadline);
  };
  // Only of a closure that is in this pool's queue or on its stacks can it be said that nobody else will end
  // it, nor the clock.
  says_what_it_awaits const said(t, timed || as_guest ? nullptr : &s);
  bool const by_anybody = timed || s.home() != this || !s.runs_to_end();
  if (by_anybody) count_outside_wait(1);
  // relaxed: for reports.
  std::uint32_t const runner = by_anybody ? 0 : s.begun_by.load(std::memory_order_relaxed);
  member const* const whom = runner != 0 ? thread(runner - 1) : nullptr;
  // With nobody left to run what is ready, whoever waits for it does.
  bool stranded = false;
  auto const is_mine = [&] { return stranded = !timed && may_claim(t, s, true) && is_stranded(); };
  while (!fired() && !expired() && !leaves()) {
    park_until(
        t, terms.why, whom, [&] { return fired() || expired() || leaves() || is_mine(); }, terms.deadline);
    if (!fired() && std::exchange(stranded, false)) static_cast<void>(claim(t, s, true));
  }
  if (by_anybody) count_outside_wait(-1);
  t.may_give_up.store(giving_up::no, std::memory_order_relaxed);
  if (fired()) return true;
  if (timed && !terms.given_up) expired_.fetch_add(1, std::memory_order_relaxed);
  if (s.waiters.remove(self)) return false;
  self.await_firing();
  return true;
}

namespace {

/// Waits as a guest of the pool. `t`: who the thread is in another one, or null. False: the result is not
/// there; the wait is over, or the pool has no room for guests, or ends, or is gone.
bool await_elsewhere(pool_core* owner, pool_thread* t, future_state& s, wait_terms& terms) noexcept {
  // Our own seat must not stay taken while we drive another pool.
  seat* const left = t != nullptr ? t->core->leave(*t) : nullptr;
  {
    guest const g(owner);
    if (pool_thread* const in = g.thread()) static_cast<void>(in->core->await(*in, s, terms, true));
  }
  if (t != nullptr) t->core->come_back(*t, left);
  return s.done();
}

// NOLINTBEGIN(clang-analyzer-core.StackAddressEscape): its destructor takes the waiter out of the list
/// On a thread that belongs to no pool. Returns early when its owner has lost its workers, or when it is
/// wanted in a pool that has none. False: the result is not there.
bool await_outside(pool_core* owner, future_state& s,
                   std::chrono::steady_clock::time_point deadline) noexcept {
  outside_waiter self;
  on_call const listed(owner, self.bell(), false);
  if (!s.waiters.add(self)) return true;
  rover roams(s, nullptr, self.bell());
  if (!is_driven_by_waiters(owner) && !roams.is_wanted(rover::idle))
    static_cast<void>(self.bell().park_until(deadline));
  if (!s.done() && s.waiters.remove(self)) return false;
  self.await_firing();
  return true;
}
// NOLINTEND(clang-analyzer-core.StackAddressEscape)

/// The same, in the pool if that has no workers.
bool await_from_outside(pool_core* owner, future_state& s, wait_terms& terms) noexcept {
  constexpr std::int64_t spin_us = 20; // less than a wake costs
  if (is_driven_by_waiters(owner)) {
    if (await_elsewhere(owner, nullptr, s, terms)) return true;
    owner = nullptr; // it ends, or is driven by many, or what is to be done is elsewhere
  } else if (owner != nullptr) {
    spin(spin_us * ticks_per_us(), [&] { return s.done(); });
  }
  return await_outside(owner, s, terms.deadline);
}

/// Where it is made. False: the wait is over, or there may be something to do elsewhere.
bool await_alone(future_state& s, wait_terms& terms) noexcept {
  if (s.done()) return true;
  pool_core* const owner = s.home();
  if (owner != nullptr && owner != current->core && was_left_behind(owner)) { // by fork(), in the parent
    s.give_up();
    return true;
  }
  if (current->core != nullptr) {
    pool_thread& t = thread_of(*current);
    // What is just gathered is not made there: await_with_inputs() goes where its inputs are.
    if (owner != nullptr && owner != t.core && s.is_work() && is_driven_by_waiters(owner) &&
        await_elsewhere(owner, &t, s, terms))
      return true;
    return t.core->await(t, s, terms);
  }
  return await_from_outside(owner, s, terms);
}

/// Runs some of what such a pool has, until the result is there. False: it had nothing.
bool drive(pool_core* core, future_state const& s) noexcept {
  // Our own seat must not stay taken meanwhile.
  pool_thread* const t = current->core != nullptr ? &thread_of(*current) : nullptr;
  seat* const left = t != nullptr ? t->core->leave(*t) : nullptr;
  bool any = false;
  {
    guest const g(core);
    pool_thread* const in = g.thread();
    for (unsigned most = 64; in != nullptr && most != 0; --most) {
      if (core->size() != 0 || s.done() || core->is_leaving_guests() || !core->run_one(*in)) break;
      any = true;
    }
  }
  if (t != nullptr) t->core->come_back(*t, left);
  return any;
}

/// Does what can be done for the inputs; then waits in one of their pools, if there is any. False: the result
/// is not there, and there is none, or the wait is over, or there is something to do elsewhere.
bool await_with_inputs(future_state& s, wait_terms& terms) noexcept {
  pool_core* const own = s.is_work() ? s.home() : nullptr;
  for (;;) {
    std::vector<pool_core*> pools;
    driven_pools_behind(s, own, pools);
    bool any = false;
    for (pool_core* const core : pools) {
      if (wants_driver(core) && drive(core, s)) any = true;
      if (s.done()) return true;
    }
    if (pools.empty() || terms.is_over() || wants_driver(own)) return s.done();
    if (any) continue;
    pool_thread* const t = current->core != nullptr ? &thread_of(*current) : nullptr;
    return await_elsewhere(pools.back(), t, s, terms);
  }
}

bool await_anywhere(future_state& s, wait_terms terms) noexcept {
  for (;;) {
    // relaxed: a pool that loses its workers later calls those who wait.
    if (!s.done() && workerless_pools.load(std::memory_order_relaxed) != 0 && await_with_inputs(s, terms))
      return true;
    if (await_alone(s, terms)) return true;
    if (terms.is_over()) return false;
  }
}

} // namespace

namespace {

/// What the calling thread runs; null: its pool, or nothing, which no request ends early.
stop_scope* stopped_with() noexcept { return static_cast<stop_scope*>(current->chain.token()); }

} // namespace

bool future_state::wait(char const* why) noexcept {
  return await_anywhere(*this, {.why = why, .stop = stopped_with()});
}

void future_state::wait_to_end(char const* why) noexcept {
  static_cast<void>(await_anywhere(*this, {.why = why}));
}

bool future_state::wait_until(std::chrono::steady_clock::time_point deadline) noexcept {
  return await_anywhere(*this, {.why = "timed wait", .deadline = deadline, .stop = stopped_with()});
}

} // namespace rubato::detail
