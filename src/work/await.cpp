// How a thread waits for a result: it runs the work itself, leaves its seat, drives the pool, or just sleeps.
// docs/design/futures.md
#include "rubato/detail/future_state.hpp"
#include "rubato/detail/mutex.hpp"
#include "work/outside_waiters.hpp"
#include "work/park.hpp"
#include "work/pool_core.hpp"
#include "work/visit.hpp"
#include "work/watch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

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

/// Makes the calling thread a guest of the pool for as long as it waits; not, if the pool is gone, is about
/// to end, or has no room.
class guest {
  member* const before_ = current;
  pool_thread* mine_ = nullptr;

public:
  explicit guest(pool_core* core) noexcept {
    std::optional<visit> here;
    if (core == nullptr || !visit_if_there(core, here) || core->turns_guests_away()) return;
    try {
      mine_ = core->enter(true);
    } catch (std::exception const&) { // too many, or no memory: the thread waits outside
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
  if (is_discarding() && !s.has_begun()) {
    s.drop();
    sweep(t);
    return true;
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

bool wait_terms::is_over() const noexcept {
  return (ends_early && (discarded(*current) || (stop != nullptr && stop->stop_requested()))) ||
         std::chrono::steady_clock::now() >= deadline;
}

bool discarded(member const& runner) noexcept {
  for (member const* m = &runner; m->core != nullptr; m = static_cast<pool_thread const*>(m)->outer)
    if (m->core->is_discarding()) return true;
  return false;
}

void pool_core::await(pool_thread& t, future_state& s, wait_terms const& terms, bool as_guest) noexcept {
  bool const timed = terms.deadline != std::chrono::steady_clock::time_point::max();
  future_state* const input = terms.input.get() != &s ? terms.input.get() : nullptr;
  auto const looks_anew = [&] {
    return (as_guest && turns_guests_away()) || terms.lost_before != workers_lost() ||
           (input != nullptr && (terms.ready || input->done()) &&
            !has_ready()); // a chain is not walked per link
  };
  if (!timed && !as_guest && claim(t, s) && s.done()) return;
  if (size() != 0)
    spin(search_ticks_, [&] { return s.done(); });
  else // no other thread will run it
    while (size() == 0 && !s.done() && !looks_anew() && !terms.is_over() && run_one(t)) {
    }
  stop_alarm const alarm(terms.ends_early ? terms.stop : nullptr, t);
  inside_waiter self(t), of_input(t);
  if (!s.waiters.add(self)) return;
  bool const both = input != nullptr && input->waiters.add(of_input);
  auto const fired = [&] { return self.was_fired(); };
  auto const over = [&] {
    return alarm.rung() || (terms.ends_early && discarded(t)) ||
           (timed && std::chrono::steady_clock::now() >= terms.deadline);
  };
  // Only of a closure that is in this pool's queue or on its stacks is it sure that no other thread ends it,
  // nor the clock.
  bool const from_outside = timed || s.home() != this || !s.runs_to_end();
  if (from_outside) count_outside_wait(1);
  // relaxed: for reports.
  std::uint32_t const runner = from_outside ? 0 : s.begun_by.load(std::memory_order_relaxed);
  member const* const whom = runner != 0 ? thread(runner - 1) : nullptr;
  // With no other thread left to run what is ready, the waiter does.
  bool stranded = false;
  auto const is_mine = [&] { return stranded = !timed && may_claim(t, s, true) && is_stranded(); };
  while (!fired() && !over() && !looks_anew()) {
    park_until(
        t, terms.why, whom, [&] { return fired() || over() || looks_anew() || is_mine(); }, terms.deadline);
    if (!fired() && std::exchange(stranded, false)) static_cast<void>(claim(t, s, true));
  }
  if (from_outside) count_outside_wait(-1);
  if (both && !input->waiters.remove(of_input)) of_input.await_firing();
  if (!fired() && !s.waiters.remove(self)) self.await_firing();
}

namespace {

/// The way from a result to one of its inputs.
class input_path {
  struct level {
    state_ref at;
    std::size_t next = 0;
  };
  std::array<level, 8> first_; // most ways are short, and so cost no allocation
  std::size_t depth_ = 0;
  std::vector<level> rest_;

public:
  explicit input_path(future_state& s) noexcept {
    s.hold();
    first_[depth_++].at = state_ref(&s);
  }
  [[nodiscard]] bool empty() const noexcept { return depth_ == 0; }
  [[nodiscard]] level& end() noexcept { return rest_.empty() ? first_[depth_ - 1] : rest_.back(); }
  /// Throws std::bad_alloc.
  void push(state_ref s) {
    if (depth_ < first_.size())
      first_[depth_] = {std::move(s)};
    else
      rest_.push_back({std::move(s)});
    ++depth_;
  }
  void pop() noexcept {
    if (rest_.empty())
      first_[depth_ - 1] = {};
    else
      rest_.pop_back();
    --depth_;
  }
};

/// Sets what a thread that waits for `s` must drive: `s`, or the first pending input, of inputs too, that
/// belongs to a pool without workers; rather one whose pool has something ready. O(inputs that are pending).
void find_work_to_drive(future_state& s, wait_terms& terms) noexcept {
  constexpr unsigned most_steps = 10'000'000; // inputs that are shared may be met many times
  terms.input = {};
  terms.ready = false;
  input_path path(s);
  try {
    for (unsigned steps = 0; steps != most_steps && !path.empty(); ++steps) {
      auto& now = path.end();
      if (state_ref input(now.at->pending_input(now.next)); input) {
        path.push(std::move(input));
        continue;
      }
      if (now.at->is_work() && !now.at->done() && is_driven_by_waiters(now.at->home())) {
        terms.ready = wants_driver(now.at->home());
        if (terms.ready || !terms.input) terms.input = now.at;
        if (terms.ready) return;
      }
      path.pop();
    }
  } catch (std::bad_alloc const&) { // NOLINT(bugprone-empty-catch): it drives what it has found
  }
}

/// Waits as a guest of the pool that has the input, until the wait is over, or there may be something else to
/// drive. False: the pool takes no guests.
bool await_as_guest(future_state& s, wait_terms const& terms) noexcept {
  // The seat of the calling thread must not stay taken while it drives another pool.
  pool_thread* const t = current->core != nullptr ? &thread_of(*current) : nullptr;
  seat* const left = t != nullptr ? t->core->leave(*t) : nullptr;
  bool was_guest = false;
  {
    guest const g(terms.input->home());
    if (pool_thread* const in = g.thread()) {
      was_guest = true;
      in->core->await(*in, s, terms, true);
    }
  }
  if (t != nullptr) t->core->come_back(*t, left);
  return was_guest;
}

// NOLINTBEGIN(clang-analyzer-core.StackAddressEscape): its destructor takes the waiter out of the list
/// On a thread that belongs to no pool: until the wait is over, or there may be something to drive.
void await_outside(future_state& s, wait_terms const& terms) noexcept {
  constexpr std::int64_t spin_us = 20; // less than a wake costs
  pool_core* const driven = terms.input ? terms.input->home() : nullptr;
  if (driven == nullptr && s.home() != nullptr) spin(spin_us * ticks_per_us(), [&] { return s.done(); });
  outside_waiter self;
  listed_outside const listed(driven, self.bell());
  if (!s.waiters.add(self)) return;
  if (terms.lost_before == workers_lost() && !wants_driver(driven))
    static_cast<void>(self.bell().park_until(terms.deadline));
  if (s.done() || !s.waiters.remove(self)) self.await_firing();
}
// NOLINTEND(clang-analyzer-core.StackAddressEscape)

void await_here(future_state& s, wait_terms const& terms) noexcept {
  if (current->core != nullptr)
    current->core->await(thread_of(*current), s, terms);
  else
    await_outside(s, terms);
}

bool await_anywhere(future_state& s, wait_terms terms) noexcept {
  for (;;) {
    if (s.done()) return true;
    terms.lost_before = workers_lost(); // before the look at what is to be driven
    pool_core* const owner = s.home();
    if (owner != nullptr && owner != current->core && was_left_behind(owner)) { // by fork(), in the parent
      s.give_up();
      return true;
    }
    // relaxed: a pool that loses its workers later counts that, and wakes the waiters.
    terms.input = {};
    if (workerless_pools.load(std::memory_order_relaxed) != 0) find_work_to_drive(s, terms);
    bool const elsewhere = terms.input && terms.input->home() != current->core;
    if (!elsewhere || !await_as_guest(s, terms)) await_here(s, terms);
    if (s.done()) return true;
    if (terms.is_over()) return false;
  }
}

/// The stop scope of what the calling thread runs; null: its pool's, or none.
stop_scope* stop_in_force() noexcept { return static_cast<stop_scope*>(current->chain.token()); }

} // namespace

bool future_state::wait(char const* why) noexcept {
  return await_anywhere(*this, {.why = why, .stop = stop_in_force()});
}

void future_state::wait_to_end(char const* why) noexcept {
  static_cast<void>(await_anywhere(*this, {.why = why, .ends_early = false}));
}

bool future_state::wait_until(std::chrono::steady_clock::time_point deadline) noexcept {
  return await_anywhere(*this, {.why = "timed wait", .deadline = deadline, .stop = stop_in_force()});
}

} // namespace rubato::detail
