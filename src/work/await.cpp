// How a thread waits for a result: it runs the work itself, leaves its seat, drives the pool, or just sleeps.
// docs/design/futures.md
#include "rubato/detail/future_state.hpp"
#include "rubato/detail/mutex.hpp"
#include "work/park.hpp"
#include "work/pool_core.hpp"
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

/// A thread outside any pool, on a parker in its frame; in a list, for its pool to call when it has no
/// workers any more.
class outside_waiter final : public thread_waiter {
  static constinit mutex all_guard;
  static constinit outside_waiter* first_of_all; // guarded by all_guard, as are the links
  outside_waiter* next_ = nullptr;
  outside_waiter* previous_ = nullptr;
  pool_core const* const owner_; // never followed: it may be gone
  parker parker_;

  static void wake(future_waiter& base, completions& /*more*/) noexcept {
    auto& self = static_cast<outside_waiter&>(base);
    self.parker_.unpark();
    self.set_fired(); // last: the parker goes with the frame
  }

public:
  explicit outside_waiter(pool_core const* owner) noexcept
      : thread_waiter(&wake)
      , owner_(owner) {
    std::lock_guard const guard(all_guard);
    next_ = first_of_all;
    if (first_of_all != nullptr) first_of_all->previous_ = this;
    first_of_all = this;
  }
  outside_waiter(outside_waiter const&) = delete;
  outside_waiter& operator=(outside_waiter const&) = delete;
  ~outside_waiter() {
    std::lock_guard const guard(all_guard);
    (previous_ != nullptr ? previous_->next_ : first_of_all) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
  }
  /// Until fired, called, or then.
  void park(std::chrono::steady_clock::time_point until) noexcept {
    static_cast<void>(parker_.park_until(until));
  }
  static mutex& guard_of_all() noexcept { return all_guard; }
  /// After fork(): the others' threads are not here.
  static void forget_all() noexcept { first_of_all = nullptr; }
  static void call(pool_core const& owner) noexcept {
    std::lock_guard const guard(all_guard);
    for (outside_waiter* w = first_of_all; w != nullptr; w = w->next_)
      if (w->owner_ == &owner) w->parker_.unpark();
  }
};
constinit mutex outside_waiter::all_guard;
constinit outside_waiter* outside_waiter::first_of_all = nullptr;

/// Becomes a guest of the pool for as long as it waits; not, if the pool is gone, ends or is full.
class guest {
  member* const before_ = current;
  pool_thread* mine_ = nullptr;

public:
  explicit guest(pool_core* core) noexcept {
    std::optional<visit> here;
    if (!visit_if_there(core, here) || core->is_leaving_guests()) return;
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

/// Is the pool one that only those drive who wait?
bool is_driven_by_waiters(pool_core* core) noexcept {
  std::optional<visit> here;
  return core != nullptr && visit_if_there(core, here) && core->size() == 0;
}

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
    std::size_t n = queued();
    for (unsigned i = 0, seats = seats_known(); i != seats; ++i) n -= std::min(n, seat_at(i)->queue.size());
    for (; n != 0; --n) { // those of the entry, once round
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

bool pool_core::await(pool_thread& t, future_state& s, char const* why,
                      std::chrono::steady_clock::time_point deadline, bool as_guest) noexcept {
  bool const timed = deadline != std::chrono::steady_clock::time_point::max();
  auto const leaves = [&] { return as_guest && is_leaving_guests(); };
  if (!timed && !as_guest && claim(t, s) && s.done()) return true;
  if (size() != 0)
    spin(search_ticks_, [&] { return s.done(); });
  else // nobody else will
    while (size() == 0 && !s.done() && !leaves() && (!timed || std::chrono::steady_clock::now() < deadline) &&
           run_one(t)) {
    }
  inside_waiter self(t);
  if (!s.waiters.add(self)) return true;
  auto const fired = [&] { return self.was_fired(); };
  auto const expired = [&] { return timed && std::chrono::steady_clock::now() >= deadline; };
  // Only of a closure that is in this pool's queue or on its stacks can it be said that nobody else will end
  // it.
  bool const by_anybody = s.home() != this || !s.runs_to_end();
  if (by_anybody) count_outside_wait(1);
  // relaxed: for reports.
  std::uint32_t const runner = by_anybody ? 0 : s.begun_by.load(std::memory_order_relaxed);
  member const* const whom = runner != 0 ? thread(runner - 1) : nullptr;
  // With nobody left to run what is ready, whoever waits for it does.
  bool stranded = false;
  auto const is_mine = [&] { return stranded = !timed && may_claim(t, s, true) && is_stranded(); };
  while (!fired() && !expired() && !leaves()) {
    park_until(t, why, whom, [&] { return fired() || expired() || leaves() || is_mine(); }, deadline);
    if (!fired() && std::exchange(stranded, false)) static_cast<void>(claim(t, s, true));
  }
  if (by_anybody) count_outside_wait(-1);
  if (fired()) return true;
  if (s.waiters.remove(self)) return false;
  self.await_firing();
  return true;
}

namespace {

/// Waits as a guest of the pool. `t`: who the thread is in another one, or null. False: the result is not
/// there; the deadline has passed, or the pool has no room for guests, or ends, or is gone.
bool await_elsewhere(pool_core* owner, pool_thread* t, future_state& s, char const* why,
                     std::chrono::steady_clock::time_point deadline) noexcept {
  // Our own seat must not stay taken while we drive another pool.
  seat* const left = t != nullptr ? t->core->leave(*t) : nullptr;
  {
    guest const g(owner);
    if (pool_thread* const in = g.thread()) static_cast<void>(in->core->await(*in, s, why, deadline, true));
  }
  if (t != nullptr) t->core->come_back(*t, left);
  return s.done();
}

// NOLINTBEGIN(clang-analyzer-core.StackAddressEscape): its destructor takes the waiter out of the list
/// On a thread that belongs to no pool. Returns early when its owner has lost its workers. False: the result
/// is not there.
bool await_outside(pool_core* owner, future_state& s,
                   std::chrono::steady_clock::time_point deadline) noexcept {
  outside_waiter self(owner);
  if (!s.waiters.add(self)) return true;
  if (!is_driven_by_waiters(owner)) self.park(deadline);
  if (!s.done() && s.waiters.remove(self)) return false;
  self.await_firing();
  return true;
}
// NOLINTEND(clang-analyzer-core.StackAddressEscape)

/// The same, all of it.
bool await_from_outside(pool_core* owner, future_state& s, char const* why,
                        std::chrono::steady_clock::time_point deadline) noexcept {
  constexpr std::int64_t spin_us = 20; // less than a wake costs
  while (!s.done()) {
    if (is_driven_by_waiters(owner)) {
      if (await_elsewhere(owner, nullptr, s, why, deadline)) return true;
      owner = nullptr; // it ends, or is driven by many
    } else if (owner != nullptr) {
      spin(spin_us * ticks_per_us(), [&] { return s.done(); });
    }
    if (await_outside(owner, s, deadline)) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
  }
  return true;
}

/// Whatever it depends on is made by others.
bool await_alone(future_state& s, char const* why, std::chrono::steady_clock::time_point deadline) noexcept {
  if (s.done()) return true;
  pool_core* const owner = s.home();
  if (owner != nullptr && owner != current->core && was_left_behind(owner)) { // by fork(), in the parent
    s.give_up();
    return true;
  }
  if (current->core != nullptr) {
    pool_thread& t = thread_of(*current);
    if (owner != nullptr && owner != t.core && is_driven_by_waiters(owner) &&
        await_elsewhere(owner, &t, s, why, deadline))
      return true;
    return t.core->await(t, s, why, deadline);
  }
  return await_from_outside(owner, s, why, deadline);
}

/// A pool that nobody drives but who waits, where something is made that a result depends on by this input;
/// not `own`. Null: there is none. It may be gone.
pool_core* driven_pool_behind(state_ref input, pool_core const* own) noexcept {
  pool_core* found = nullptr;
  while (input) {
    pool_core* const home = input->home();
    if (home != own && home != found && is_driven_by_waiters(home)) found = home;
    std::size_t first = 0;
    input = state_ref(input->unfinished_input(first));
  }
  return found;
}

/// Runs what such a pool has, until the result is there. False: it had nothing.
bool drive(pool_core* core, future_state const& s) noexcept {
  // Our own seat must not stay taken meanwhile.
  pool_thread* const t = current->core != nullptr ? &thread_of(*current) : nullptr;
  seat* const left = t != nullptr ? t->core->leave(*t) : nullptr;
  bool any = false;
  {
    guest const g(core);
    pool_thread* const in = g.thread();
    while (in != nullptr && core->size() == 0 && !s.done() && !core->is_leaving_guests() &&
           core->run_one(*in))
      any = true;
  }
  if (t != nullptr) t->core->come_back(*t, left);
  return any;
}

/// Does all that can be done for the inputs; then waits in one of their pools, if there is any. False: the
/// result is not there, and there is none, or the deadline has passed.
bool await_with_inputs(future_state& s, char const* why,
                       std::chrono::steady_clock::time_point deadline) noexcept {
  pool_core const* const own = s.is_work() ? s.home() : nullptr;
  for (;;) {
    pool_core* last = nullptr;
    bool any = false;
    std::size_t next = 0;
    while (state_ref input{s.unfinished_input(next)}) {
      pool_core* const core = driven_pool_behind(std::move(input), own);
      if (core == nullptr || core == last) continue;
      last = core;
      if (drive(core, s)) any = true;
      if (s.done()) return true;
    }
    if (last == nullptr || std::chrono::steady_clock::now() >= deadline) return s.done();
    if (any) continue;
    pool_thread* const t = current->core != nullptr ? &thread_of(*current) : nullptr;
    return await_elsewhere(last, t, s, why, deadline);
  }
}

bool await_anywhere(future_state& s, char const* why,
                    std::chrono::steady_clock::time_point deadline) noexcept {
  // relaxed: a pool that loses its workers later calls those who wait.
  if (!s.done() && workerless_pools.load(std::memory_order_relaxed) != 0 &&
      await_with_inputs(s, why, deadline))
    return true;
  return await_alone(s, why, deadline);
}

} // namespace

void call_outside_waiters(pool_core const& c) noexcept { outside_waiter::call(c); }
void lock_outside_waiters() noexcept { outside_waiter::guard_of_all().lock(); }
void unlock_outside_waiters() noexcept { outside_waiter::guard_of_all().unlock(); }
void forget_outside_waiters() noexcept { outside_waiter::forget_all(); }

void future_state::wait(char const* why) noexcept {
  static_cast<void>(await_anywhere(*this, why, std::chrono::steady_clock::time_point::max()));
}

bool future_state::wait_until(std::chrono::steady_clock::time_point deadline) noexcept {
  return await_anywhere(*this, "timed wait", deadline);
}

} // namespace rubato::detail
