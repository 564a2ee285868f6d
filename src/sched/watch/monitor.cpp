#include "sched/watch/monitor.hpp"

#include "os/clock.hpp"
#include "os/cpus/affinity.hpp"
#include "os/scheduling.hpp"
#include "os/thread.hpp"
#include "rubato/detail/base/deadline.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/trace/note.hpp"
#include "sched/core/pool_registry.hpp"
#include "sched/watch/pool_watch.hpp"
#include "timer/event_source.hpp"
#include "timer/nudge_monitor.hpp"
#include "timer/timers.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace rubato::detail {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds first_look = 100us, longest_look = 500us, relief_look = 10ms, linger = 2ms;

/// How long every pool must be idle before the monitor sleeps deeply. From that sleep the next fork wakes a
/// worker at once, which is what a program with pauses needs, and what a tiny fork now and then pays for in
/// vain. So the time is short, and doubles after each wake for which no work moved to another thread.
class idle_linger {
  static constexpr std::chrono::nanoseconds shortest = 250us;
  std::chrono::nanoseconds time_ = shortest;
  std::uint64_t moved_ = 0;

  static std::uint64_t moved_by_now() noexcept {
    std::uint64_t sum = 0;
    static_cast<void>(find_pool([&sum](pool_core& p) { return sum += moved_work(p), false; }));
    return sum;
  }

public:
  [[nodiscard]] std::chrono::nanoseconds time() const noexcept { return time_; }
  /// When every pool is idle again after a sleep that a thread has ended.
  void learn() noexcept {
    std::uint64_t const moved = moved_by_now();
    time_ = moved != std::exchange(moved_, moved) ? shortest : std::min(time_ * 2, linger);
  }
};

constinit bool started = false; // under the lock of the registry of pools

/// After the monitor has announced its sleep: is there anything for which it must stay awake? If it only
/// sleeps lightly it ignores queued tasks.
bool anything_to_see(monitor_rest depth) noexcept {
  static_cast<void>(find_pool([](pool_core& p) { return arm_poll_all(p), false; }));
  return find_pool([depth](pool_core& p) { return wants_attention(p, depth == monitor_rest::asleep); });
}

attention look_at_all(os::ticks now) noexcept {
  attention all;
  static_cast<void>(find_pool([&](pool_core& p) {
    attention const a = inspect(p, now);
    all.busy |= a.busy;
    all.latent |= a.latent;
    all.queued |= a.queued;
    return false;
  }));
  return all;
}

/// Fires the timers if there is no reactor. Returns when to come back.
std::chrono::steady_clock::time_point
fire_without_reactor(std::chrono::steady_clock::time_point latest) noexcept {
  // Pairs with the start of the reactor, which is installed and then fires: the reactor sees the timers that
  // fire_timers_until() has left, or this thread sees the reactor.
  if (installed_events.get() != nullptr) return latest;
  auto const until = fire_timers_until(latest);
  if (installed_events.get() != nullptr) fire_timers(); // and sets its alarm
  return until;
}

/// Sleeps until `latest`, or until a timer is due. `alarm`: its value before the caller looked at the pools.
void sleep_until(std::uint32_t alarm, std::chrono::steady_clock::time_point latest) noexcept {
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
  auto last_seen = std::chrono::steady_clock::now(), last_busy = last_seen;
  idle_linger idle;
  bool latent_before = false, learns = false;
  for (;;) {
    std::uint32_t const alarm = sleep_of_monitor.alarm();
    attention const a = look_at_all(os::now());
    note<event_kind::look>(
        nullptr, 0, static_cast<unsigned char>((a.busy ? 1 : 0) | (a.latent ? 2 : 0) | (a.queued ? 4 : 0)));
    auto const now = std::chrono::steady_clock::now();
    if (a.latent || a.queued) last_seen = now;
    if (a.busy) last_busy = now;
    if (a.latent && !std::exchange(latent_before, a.latent)) pause = first_look; // the second look decides
    latent_before = a.latent;
    if (now - last_seen < linger && now - last_busy < idle.time()) {
      bool light = a.queued && !a.latent;
      if (light) {
        sleep_of_monitor.announce(monitor_rest::light);
        light = !anything_to_see(monitor_rest::light);
      }
      sleep_until(alarm, now + (light ? relief_look : pause));
      sleep_of_monitor.rise();
      pause = std::min(pause * 2, longest_look);
      continue;
    }
    if (std::exchange(learns, true)) idle.learn(); // all is done for which the last sleep ended
    // The first sleep is short: a fork that was between its poll and its push is seen at the second look.
    auto const second_look = now + longest_look;
    sleep_of_monitor.sleep_deeply([] { return anything_to_see(monitor_rest::asleep); },
                                  [second_look](std::uint32_t then) {
                                    bool const first = std::chrono::steady_clock::now() < second_look;
                                    sleep_until(then, first ? second_look
                                                            : std::chrono::steady_clock::time_point::max());
                                  });
    // A look right after the wake would tell nothing yet: what began just now shows later.
    last_seen = last_busy = std::chrono::steady_clock::now();
    pause = first_look;
    sleep_until(sleep_of_monitor.alarm(), last_seen + first_look);
  }
}

} // namespace

void start_monitor() {
  if (started) return;
  os::cpu_mask const everywhere = os::cpu_mask::of_process(); // not tied to the CPU that its maker keeps busy
  os::thread made({.name = "rubato/monitor", .blocks_signals = true, .cpus = &everywhere}, &monitor_main,
                  nullptr);
  made.detach();
  started = true;
}

void forget_monitor() noexcept {
  started = false;
  sleep_of_monitor.reset();
}

} // namespace rubato::detail
