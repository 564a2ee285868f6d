// The monitor's loop, and the registry of pools. docs/design/monitor.md
#include "sched/monitor/monitor.hpp"

#include "os/clock.hpp"
#include "os/cpus/affinity.hpp"
#include "os/fork.hpp"
#include "os/thread.hpp"
#include "rubato/detail/base/deadline.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/memory/slab.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/monitor/outside_waiters.hpp"
#include "sched/monitor/timers.hpp"
#include "sched/worker/event_source.hpp"
#include "sched/worker/hazard_guard.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace rubato::detail {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds first_look = 100us, longest_look = 500us, relief_look = 10ms, linger = 2ms;

// Never destroyed: pools with static storage end after everything else.
struct monitor_state {
  mutex pools_mutex;
  intrusive_list<pool_core> pools RUBATO_GUARDED_BY(pools_mutex);
  intrusive_list<pool_core>
      behind RUBATO_GUARDED_BY(pools_mutex); // those that fork() has left in the parent; never destroyed here
  bool started RUBATO_GUARDED_BY(pools_mutex) = false;
  int nice = 0; // the monitor's; not guarded: written before the first pool is there
  mutex to_make_mutex;
  pool_thread* to_make RUBATO_GUARDED_BY(to_make_mutex) = nullptr;
};
constinit monitor_state state;

/// Under the lock of the list. The pool may be gone.
bool is_in(intrusive_list<pool_core> const& pools, pool_core const* core) noexcept {
  pool_core* p = pools.front();
  while (p != nullptr && p != core) p = intrusive_list<pool_core>::after(*p);
  return p != nullptr;
}

/// After the monitor has announced its sleep: is there anything for which it must stay awake? If it only
/// dozes it ignores queued tasks.
bool anything_to_see(monitor_rest depth) noexcept {
  lock_guard const guard(state.pools_mutex);
  state.pools.for_each([](pool_core& p) { p.progress.arm_poll_all(); });
  for (pool_core* p = state.pools.front(); p != nullptr; p = state.pools.after(*p))
    if (p->progress.wants_attention(depth == monitor_rest::asleep)) return true;
  return false;
}

progress_monitor::attention look_at_all(os::ticks now) noexcept {
  progress_monitor::attention all;
  lock_guard const guard(state.pools_mutex);
  state.pools.for_each([&](pool_core& p) {
    progress_monitor::attention const a = p.progress.inspect(now);
    all.latent |= a.latent;
    all.queued |= a.queued;
  });
  return all;
}

void make_threads() noexcept {
  for (;;) {
    pool_thread* t = nullptr;
    {
      lock_guard const guard(state.to_make_mutex);
      t = state.to_make;
      if (t == nullptr) return;
      state.to_make = t->next_to_make;
    }
    t->core->threads.make_now(*t);
  }
}

/// Fires the timers if there is no reactor. Returns when to come back.
std::chrono::steady_clock::time_point
fire_without_reactor(std::chrono::steady_clock::time_point latest) noexcept {
  // Pairs with the reactor's start, which installs it and then fires: it sees what fire_timers_until() has
  // left for later, or this thread sees the reactor.
  if (installed_events.get() != nullptr) return latest;
  auto const until = fire_timers_until(latest);
  if (installed_events.get() != nullptr) fire_timers(); // and sets its alarm
  return until;
}

/// Sleeps until `latest`, or until a timer is due. `alarm`: its value before the caller looked at the pools.
void sleep_until(std::uint32_t alarm, std::chrono::steady_clock::time_point latest) noexcept {
  make_threads();
  auto const until = fire_without_reactor(latest);
  if (until == std::chrono::steady_clock::time_point::max())
    sleep_of_monitor.sleep(alarm);
  else
    sleep_of_monitor.sleep(alarm, deadline{until});
}

void monitor_main(void*) {
  os::set_timer_slack(1us);
  os::schedule_ordinarily();
  std::chrono::nanoseconds pause = first_look;
  auto last_seen = std::chrono::steady_clock::now();
  for (;;) {
    std::uint32_t const alarm = sleep_of_monitor.alarm();
    progress_monitor::attention const a = look_at_all(os::now());
    auto const now = std::chrono::steady_clock::now();
    if (a.latent || a.queued) last_seen = now;
    if (now - last_seen < linger) {
      bool doze = a.queued && !a.latent;
      if (doze) {
        sleep_of_monitor.announce(monitor_rest::dozing);
        doze = !anything_to_see(monitor_rest::dozing);
      }
      sleep_until(alarm, now + (doze ? relief_look : pause));
      sleep_of_monitor.rise();
      pause = std::min(pause * 2, longest_look);
      continue;
    }
    // The first sleep is short: a fork that was between its poll and its push is seen at the second look.
    auto const second_look = now + longest_look;
    sleep_of_monitor.sleep_deeply([] { return anything_to_see(monitor_rest::asleep); },
                                  [second_look](std::uint32_t then) {
                                    bool const first = std::chrono::steady_clock::now() < second_look;
                                    sleep_until(then, first ? second_look
                                                            : std::chrono::steady_clock::time_point::max());
                                  });
    // A look right after the wake would tell nothing yet: what began just now shows later.
    last_seen = std::chrono::steady_clock::now();
    pause = first_look;
    sleep_until(sleep_of_monitor.alarm(), last_seen + first_look);
  }
}

// fork() copies the registry but not the thread.
void before_fork() RUBATO_NOT_ANALYSED {
  start_mutex().lock();
  state.pools_mutex.lock();
  state.to_make_mutex.lock();
  lock_slabs();
  lock_hazards();
  lock_timers();
  lock_outside_waiters();
}
void after_fork_in_parent() RUBATO_NOT_ANALYSED {
  unlock_outside_waiters();
  unlock_timers();
  unlock_hazards();
  unlock_slabs();
  state.to_make_mutex.unlock();
  state.pools_mutex.unlock();
  start_mutex().unlock();
}
void after_fork_in_child() RUBATO_NOT_ANALYSED {
  forget_outside_waiters();
  unlock_outside_waiters();
  forget_timers();
  unlock_timers();
  forget_other_hazards();
  unlock_hazards();
  unlock_slabs();
  state.to_make = nullptr;
  state.to_make_mutex.unlock();
  state.started = false;
  sleep_of_monitor.reset();
  while (pool_core* const p = state.pools.pop_front()) {
    p->life.abandon();
    state.behind.push_front(*p);
  }
  state.pools_mutex.unlock();
  start_mutex().unlock();
  current = &outside;
}

} // namespace

bool schedules_like_monitor() noexcept {
  return os::this_thread_scheduling() == os::scheduling{.ordinary = true, .nice = state.nice};
}

void make_on_monitor(pool_thread& t) noexcept {
  {
    lock_guard const guard(state.to_make_mutex);
    t.next_to_make = std::exchange(state.to_make, &t);
  }
  sleep_of_monitor.ring();
}

void set_timer_alarm(std::chrono::steady_clock::time_point due) noexcept {
  // As in fire_without_reactor().
  if (event_source* const e = installed_events.get())
    e->set_alarm(due);
  else
    sleep_of_monitor.ring();
}

void add_to_monitor(pool_core& core) {
  lock_guard const guard(state.pools_mutex);
  if (!state.started) {
    static bool const handlers =
        (os::register_fork_handlers(before_fork, after_fork_in_parent, after_fork_in_child), true);
    static_cast<void>(handlers);
    state.nice = os::this_thread_scheduling().nice; // it inherits that
    os::cpu_mask const everywhere =
        os::cpu_mask::of_process(); // not tied to the CPU that its maker keeps busy
    os::thread made({.name = "rubato/monitor", .blocks_signals = true, .cpus = &everywhere}, &monitor_main,
                    nullptr);
    made.detach();
    state.started = true;
  }
  state.pools.push_front(core);
}

void wake_all_waiters() noexcept {
  lock_guard const guard(state.pools_mutex);
  state.pools.for_each([](pool_core& p) { p.threads.unpark_all(); });
}

bool guard_if_there(pool_core const* core, std::optional<hazard_guard>& here) noexcept {
  if (core == nullptr) return false;
  lock_guard const guard(state.pools_mutex);
  if (!is_in(state.pools, core)) return false;
  here.emplace(*core); // before it can leave the registry: its destructor waits for this guard
  return true;
}

bool was_left_behind(pool_core const* core) noexcept {
  lock_guard const guard(state.pools_mutex);
  return is_in(state.behind, core);
}

void remove_from_monitor(pool_core& core) noexcept {
  lock_guard const guard(state.pools_mutex);
  state.pools.erase(core);
}

} // namespace rubato::detail
