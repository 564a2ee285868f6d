// How a result gets to those who wait for it, and how a thread waits. docs/design/futures.md
#include "rubato/detail/future_state.hpp"

#include "rubato/cancelled.hpp"
#include "rubato/detail/continuation.hpp"
#include "rubato/detail/token_in_force.hpp"
#include "work/park.hpp"
#include "work/pool_core.hpp"
#include "work/visit.hpp"
#include "work/watch.hpp"

#include <algorithm>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace rubato::detail {

namespace {

constexpr unsigned most_claims = 64; // nested in each other on one stack

/// A thread that waits; it stays in its frame until it has been fired or removed.
struct thread_waiter : future_waiter {
  parker* where;
  pool_core const* core; // whose the parker is; null: the frame's own
  std::atomic<bool> fired{false};

  thread_waiter(parker& p, pool_core const* c) noexcept
      : future_waiter(&wake)
      , where(&p)
      , core(c) {}

  static void wake(future_waiter& base, completions& /*more*/) noexcept {
    auto& w = static_cast<thread_waiter&>(base);
    parker& p = *w.where;
    std::optional<visit> here;
    if (w.core != nullptr && current->core != w.core) here.emplace(*w.core);
    // release: pairs with whoever waits. The frame may be gone right afterwards, the parker of a pool's
    // thread is not: the pool is visited or ours. A parker in the frame is the flag itself.
    if (w.core != nullptr) w.fired.store(true, std::memory_order_release);
    p.unpark();
  }
};

/// Becomes a guest of the pool for as long as it waits; not, if the pool is gone, ends or is full.
class guest {
  member* const before_ = current;
  pool_thread* mine_ = nullptr;

public:
  explicit guest(pool_core* core) noexcept {
    std::optional<visit> here;
    if (!visit_if_there(core, here) || core->is_ending()) return;
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
  return visit_if_there(core, here) && core->size() == 0;
}

template<class Done>
void spin(os::ticks how_long, Done done) noexcept {
  os::ticks const until = os::now() + how_long;
  while (!done() && os::now() < until)
    for (unsigned i = 0; i != 16; ++i) std_policy::pause();
}

} // namespace

bool pool_core::may_claim(pool_thread const& t, future_state const& s, bool stranded) const noexcept {
  return s.entry.is_ready() && s.home() == this && t.claims < most_claims &&
         (stranded || s.seat == future_state::any_seat);
}

bool pool_core::claim(pool_thread& t, future_state& s, bool stranded) noexcept {
  if (!may_claim(t, s, stranded)) return false;
  switch (s.entry.claim()) {
  case ticket::claimed::no:
    return false;
  case ticket::claimed::first:
    s.hold(); // the queue's
    break;
  case ticket::claimed::again:
    break;
  }
  t.bump(counted::executed);
  ++t.claims;
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
    auto const keep = [](task* k) {
      return k->exec != &future_state::exec_entry || !static_cast<future_state*>(k)->drop_if_stale();
    };
    for (std::size_t n = s != nullptr ? s->queue.size() : 0; n != 0; --n) {
      task* const k = s->queue.pop();
      if (k == nullptr) break;
      if (!keep(k)) continue;
      ++left;
      if (!s->queue.push(k)) push_entry(k);
    }
    for (std::size_t n = queued(); n != 0; --n) {
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
  auto const leaves = [&] { return as_guest && is_ending(); };
  if (!timed && size() != 0 && claim(t, s) && s.done()) return true;
  if (size() != 0)
    spin(search_ticks_, [&] { return s.done(); });
  else // nobody else will
    while (size() == 0 && !s.done() && !leaves() && (!timed || std::chrono::steady_clock::now() < deadline) &&
           run_one(t)) {
    }
  thread_waiter self(t.parker, this);
  if (!s.waiters.add(self)) return true;
  auto const fired = [&] { return self.fired.load(std::memory_order_acquire); };
  auto const expired = [&] { return timed && std::chrono::steady_clock::now() >= deadline; };
  // Only of a closure that is in this pool's queue or on its stacks can it be said that nobody else will end
  // it.
  bool const by_anybody = s.home() != this || !s.runs_to_end();
  if (by_anybody) count_outside_wait(1);
  // With nobody left to run what is ready, whoever waits for it does.
  bool stranded = false;
  auto const is_mine = [&] { return stranded = !timed && may_claim(t, s, true) && is_stranded(); };
  while (!fired() && !expired() && !leaves()) {
    park_until(t, why, nullptr, [&] { return fired() || expired() || leaves() || is_mine(); }, deadline);
    if (!fired() && std::exchange(stranded, false)) static_cast<void>(claim(t, s, true));
  }
  if (by_anybody) count_outside_wait(-1);
  if (fired()) return true;
  if (s.waiters.remove(self)) return false;
  while (!fired()) std::this_thread::yield(); // it is being told
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

/// On a thread that belongs to no pool and is no guest of one.
bool await_outside(future_state& s, std::chrono::steady_clock::time_point deadline) noexcept {
  parker own;
  thread_waiter self(own, nullptr);
  if (!s.waiters.add(self)) return true;
  if (deadline == std::chrono::steady_clock::time_point::max()) {
    own.park();
    return true;
  }
  if (own.park_until(deadline)) return true;
  if (s.waiters.remove(self)) return false;
  own.park(); // it is being told
  return true;
}

bool await_anywhere(future_state& s, char const* why,
                    std::chrono::steady_clock::time_point deadline) noexcept {
  if (s.done()) return true;
  pool_core* const owner = s.home();
  if (owner != nullptr && owner != current->core && was_left_behind(owner)) { // by fork(), in the parent
    s.drop();
    return true;
  }
  if (current->core != nullptr) {
    pool_thread& t = thread_of(*current);
    if (owner != nullptr && owner != t.core && is_driven_by_waiters(owner) &&
        await_elsewhere(owner, &t, s, why, deadline))
      return true;
    return t.core->await(t, s, why, deadline);
  }
  if (owner == nullptr) return await_outside(s, deadline);
  constexpr std::int64_t spin_us = 20; // less than a wake costs
  spin(spin_us * ticks_per_us(), [&] { return s.done(); });
  return s.done() || await_elsewhere(owner, nullptr, s, why, deadline) || await_outside(s, deadline);
}

} // namespace

void future_state::wait(char const* why) noexcept {
  static_cast<void>(await_anywhere(*this, why, std::chrono::steady_clock::time_point::max()));
}

bool future_state::wait_until(std::chrono::steady_clock::time_point deadline) noexcept {
  return await_anywhere(*this, "timed wait", deadline);
}

void future_state::exec_entry(task& base, member* runner) noexcept {
  auto& s = static_cast<future_state&>(base);
  s.holds_room = false; // the room has been given back
  ticket::taken const t = s.entry.take();
  if (t.ready) {
    if (runner != nullptr)
      s.resume(*runner);
    else
      s.drop();
  }
  if (t.stale) s.release();
}

bool future_state::drop_if_stale() noexcept {
  if (!entry.drop_if_stale()) return false;
  if (std::exchange(holds_room, false)) home()->release_room();
  release();
  return true;
}

void future_state::complete() noexcept {
  completions more;
  for (future_state* s = this; s != nullptr; s = more.pop()) {
    s->stop.leave_parent(); // whoever is told next may end the scope around it
    for (completion::waiter* w = s->waiters.close(); w != nullptr;) {
      auto& now = static_cast<future_waiter&>(*w);
      w = w->next; // read before: the waiter is gone afterwards
      now.fire(now, more);
    }
    s->release();
  }
}

void future_state::drop() noexcept {
  fail(broken_promise());
  complete();
}

void future_state::resume(member& /*runner*/) noexcept {} // a promise's is never queued

void future_state::cancel() noexcept {
  cancellation all;
  all.add(*this);
  while (future_state* const s = all.pop()) {
    state_ref const held(s);
    s->stop.request_stop(); // calls what users have registered
    s->cancel_inputs(all);
  }
}

void offer(future_state& s) noexcept {
  if (s.entry.offer()) queue_new(s);
}

void queue_new(future_state& s) noexcept {
  pool_core& core = *s.home();
  if (s.seat != future_state::any_seat)
    core.enqueue_on(s.seat, &s);
  else
    core.enqueue_next(&s);
}

void queue_continuation(future_state& c, future_state& source, bool just_made) noexcept {
  pool_core* const made_at = source.home();
  std::optional<visit> there;
  if (current->core != nullptr && (just_made || current->core == made_at))
    c.settle(current->core);
  else
    c.settle(visit_if_there(made_at, there) ? made_at : some_core());
  offer(c);
}

void queue_pending(future_state& c, resident& r, pool_core& wanted, bool chosen) noexcept {
  visit const here(wanted); // it is alive as long as we are listed there
  c.hold();                 // it may run and end meanwhile
  c.settle(chosen || current->core == nullptr ? &wanted : current->core);
  offer(c);
  wanted.residing.remove(r);
  c.release();
}

void spawn_state(pool_core& c, future_state& s) noexcept {
  s.settle(&c);
  static_cast<void>(s.entry.offer());
  if (s.seat != future_state::any_seat)
    c.enqueue_on(s.seat, &s);
  else
    c.enqueue(&s);
}

std::uint16_t checked_seat(pool_core& c, unsigned seat) {
  if (seat >= c.size())
    throw std::out_of_range("rubato: spawn_on(" + std::to_string(seat) + "): the pool has " +
                            std::to_string(c.size()) + " seats");
  return static_cast<std::uint16_t>(seat);
}

pool_core* some_core() { return core_of(pool_or_current(nullptr)); }

void throw_no_state(char const* what) {
  struct no_state : std::future_error {
    char const* said;
    explicit no_state(char const* w)
        : std::future_error(std::future_errc::no_state)
        , said(w) {}
    [[nodiscard]] char const* what() const noexcept override { return said; }
  };
  throw no_state(what);
}

void join_residents(pool_core& core, resident& r) noexcept { core.residing.add(r); }

std::exception_ptr broken_promise() noexcept {
  return std::make_exception_ptr(std::future_error(std::future_errc::broken_promise));
}

bool is_cancelled(std::exception_ptr const& e) noexcept {
  try {
    std::rethrow_exception(e);
  } catch (cancelled const&) {
    return true;
  } catch (...) {
    return false;
  }
}

void count_armed(pool_core& c) noexcept { c.armed(); }
void count_disarmed(pool_core& c) noexcept { c.disarmed(); }

std::exception_ptr cancelled_error() noexcept { return std::make_exception_ptr(cancelled()); }

} // namespace rubato::detail
