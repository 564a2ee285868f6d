// The watch's loop, and the registry of pools. docs/design/watch.md
#include "work/watch.hpp"

#include "os/clock.hpp"
#include "os/fork.hpp"
#include "os/futex.hpp"
#include "os/thread.hpp"
#include "rubato/detail/mutex.hpp"
#include "work/outside_waiters.hpp"
#include "work/pool_core.hpp"
#include "work/slab.hpp"
#include "work/start.hpp"
#include "work/timers.hpp"
#include "work/visit.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

namespace rubato::detail {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds first_look = 100us, longest_look = 500us, relief_look = 10ms, linger = 2ms;

// Never destroyed: pools with static storage end after everything else.
struct watch_state {
  mutex pools_mutex;
  pool_core* pools = nullptr;  // guarded by pools_mutex, as is the rest
  pool_core* behind = nullptr; // those that fork() has left in the parent; never destroyed here
  bool started = false;
  std::atomic<std::uint32_t> alarm{0}; // counts wakes
  std::atomic<int> nice{0};            // the watch's
  mutex to_make_mutex;
  pool_thread* to_make = nullptr; // guarded by to_make_mutex
};
constinit watch_state state;

/// Asked when the watch has announced that it will sleep: is there anything to see, for which it must not? If
/// it only dozes it need not mind what is queued.
bool anything_to_see(watch_rest depth) noexcept {
  std::lock_guard const guard(state.pools_mutex);
  for (pool_core* p = state.pools; p != nullptr; p = p->next_pool) p->remind_all();
  std_policy::fence(); // pairs with tell_of_latent()
  for (pool_core* p = state.pools; p != nullptr; p = p->next_pool)
    if (p->wants_attention(depth == watch_rest::asleep)) return true;
  return false;
}

pool_core::attention look_at_all(os::ticks now) noexcept {
  pool_core::attention all;
  std::lock_guard const guard(state.pools_mutex);
  for (pool_core* p = state.pools; p != nullptr; p = p->next_pool) {
    pool_core::attention const a = p->look(now);
    all.latent |= a.latent;
    all.queued |= a.queued;
  }
  return all;
}

void make_threads() noexcept {
  for (;;) {
    pool_thread* t = nullptr;
    {
      std::lock_guard const guard(state.to_make_mutex);
      t = state.to_make;
      if (t == nullptr) return;
      state.to_make = t->next_to_make;
    }
    t->core->make_now(*t);
  }
}

/// Sleeps until then at the latest, less if a timer is due before. `alarm`: as it was when the caller last
/// looked at the pools.
void sleep_until(std::uint32_t alarm, std::chrono::steady_clock::time_point latest) noexcept {
  make_threads();
  auto const until = fire_timers(latest);
  if (until == std::chrono::steady_clock::time_point::max())
    os::wait(state.alarm, alarm);
  else
    static_cast<void>(os::wait_until(state.alarm, alarm, until));
}

void watch_main(void*) {
  os::set_timer_slack(1us);
  os::schedule_ordinarily();
  std::chrono::nanoseconds pause = first_look;
  auto last_seen = std::chrono::steady_clock::now();
  for (;;) {
    std::uint32_t const alarm = state.alarm.load(std::memory_order_acquire);
    pool_core::attention const a = look_at_all(os::now());
    auto const now = std::chrono::steady_clock::now();
    if (a.latent || a.queued) last_seen = now;
    if (now - last_seen < linger) {
      bool doze = a.queued && !a.latent;
      if (doze) {
        watch_state_now.store(watch_rest::dozing, std::memory_order_seq_cst);
        doze = !anything_to_see(watch_rest::dozing);
      }
      sleep_until(alarm, now + (doze ? relief_look : pause));
      watch_state_now.store(watch_rest::awake, std::memory_order_seq_cst);
      pause = std::min(pause * 2, longest_look);
      continue;
    }
    // seq_cst: announce, then look again; pairs with nudge_watch(), which comes after the event.
    watch_state_now.store(watch_rest::asleep, std::memory_order_seq_cst);
    for (;;) {
      // Who wakes it changes the state first, then the alarm. A timer alone does not make it look at the
      // pools: what that makes ready is queued, which wakes a worker.
      std::uint32_t const then = state.alarm.load(std::memory_order_acquire);
      if (watch_state_now.load(std::memory_order_seq_cst) != watch_rest::asleep ||
          anything_to_see(watch_rest::asleep))
        break;
      sleep_until(then, std::chrono::steady_clock::time_point::max());
    }
    watch_state_now.store(watch_rest::awake, std::memory_order_seq_cst);
    // The first look after a wake would tell nothing yet: what began just now shows itself later.
    last_seen = std::chrono::steady_clock::now();
    pause = first_look;
    sleep_until(state.alarm.load(std::memory_order_acquire), last_seen + first_look);
  }
}

// fork() copies the registry but not the thread.
void before_fork() {
  start_mutex().lock();
  state.pools_mutex.lock();
  state.to_make_mutex.lock();
  lock_slabs();
  lock_visitors();
  lock_timers();
  lock_outside_waiters();
}
void after_fork_in_parent() {
  unlock_outside_waiters();
  unlock_timers();
  unlock_visitors();
  unlock_slabs();
  state.to_make_mutex.unlock();
  state.pools_mutex.unlock();
  start_mutex().unlock();
}
void after_fork_in_child() {
  forget_outside_waiters();
  unlock_outside_waiters();
  forget_timers();
  unlock_timers();
  forget_other_visitors();
  unlock_visitors();
  unlock_slabs();
  state.to_make = nullptr;
  state.to_make_mutex.unlock();
  pool_core* p = state.pools;
  state.pools = nullptr;
  state.started = false;
  watch_state_now.store(watch_rest::asleep, std::memory_order_relaxed);
  state.pools_mutex.unlock();
  start_mutex().unlock();
  current = &outside;
  while (p != nullptr) {
    pool_core* const next = p->next_pool;
    p->abandon();
    p->next_pool = std::exchange(state.behind, p);
    p = next;
  }
}

} // namespace

void wake_watch() noexcept {
  // One of those who see it asleep wakes it. acq_rel: its next look sees what was done before.
  if (watch_state_now.exchange(watch_rest::awake, std::memory_order_acq_rel) == watch_rest::awake) return;
  state.alarm.fetch_add(1, std::memory_order_release);
  static_cast<void>(os::wake(state.alarm, 1));
}

bool schedules_like_watch() noexcept {
  return os::this_thread_scheduling() ==
         os::scheduling{.ordinary = true, .nice = state.nice.load(std::memory_order_relaxed)};
}

void make_on_watch(pool_thread& t) noexcept {
  {
    std::lock_guard const guard(state.to_make_mutex);
    t.next_to_make = std::exchange(state.to_make, &t);
  }
  wake_for_timer();
}

void wake_for_timer() noexcept {
  state.alarm.fetch_add(1, std::memory_order_release);
  static_cast<void>(os::wake(state.alarm, 1));
}

void watch_pool(pool_core& core) {
  std::lock_guard const guard(state.pools_mutex);
  if (!state.started) {
    static bool const handlers =
        (os::register_fork_handlers(before_fork, after_fork_in_parent, after_fork_in_child), true);
    static_cast<void>(handlers);
    state.nice.store(os::this_thread_scheduling().nice, std::memory_order_relaxed); // it inherits that
    os::thread made({.name = "rubato/watch", .blocks_signals = true}, &watch_main, nullptr);
    made.detach();
    state.started = true;
  }
  core.next_pool = state.pools;
  core.previous_pool = nullptr;
  if (state.pools != nullptr) state.pools->previous_pool = &core;
  state.pools = &core;
}

void wake_all_waiters() noexcept {
  std::lock_guard const guard(state.pools_mutex);
  for (pool_core const* p = state.pools; p != nullptr; p = p->next_pool)
    p->for_each_thread(
        [](pool_thread& t) { t.parker.unpark(); }); // a thread that runs looks anew before it waits
}

bool visit_if_there(pool_core const* core, std::optional<visit>& here) noexcept {
  if (core == nullptr) return false;
  std::lock_guard const guard(state.pools_mutex);
  for (pool_core const* p = state.pools; p != nullptr; p = p->next_pool)
    if (p == core) {
      here.emplace(*p); // before it can be unregistered; then its destructor waits for us
      return true;
    }
  return false;
}

bool was_left_behind(pool_core const* core) noexcept {
  std::lock_guard const guard(state.pools_mutex);
  for (pool_core const* p = state.behind; p != nullptr; p = p->next_pool)
    if (p == core) return true;
  return false;
}

void unwatch_pool(pool_core& core) noexcept {
  std::lock_guard const guard(state.pools_mutex);
  (core.previous_pool != nullptr ? core.previous_pool->next_pool : state.pools) = core.next_pool;
  if (core.next_pool != nullptr) core.next_pool->previous_pool = core.previous_pool;
}

} // namespace rubato::detail
