#include "timer/timers.hpp"

#include "base/never_destroyed.hpp"
#include "base/thread_number.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "timer/event_source.hpp"
#include "timer/nudge_monitor.hpp"
#include "timer/timer_shards.hpp"

#include <algorithm>
#include <bit>
#include <thread>

namespace rubato::detail {

namespace {

using time_point = std::chrono::steady_clock::time_point;

constexpr unsigned most_shards = 64;

constinit never_destroyed<basic_timer_shards<std_policy, most_shards>>
    storage; // the monitor outlives static objects

/// One per CPU that the machine has, rounded up to a power of two.
unsigned shards_in_use() noexcept {
  static relaxed<unsigned> known; // every thread finds the same number
  if (known.get() == 0)
    known.set(std::bit_ceil(std::clamp(std::thread::hardware_concurrency(), 1U, most_shards)));
  return known.get();
}

unsigned shard_of_thread() noexcept { return thread_number() & (shards_in_use() - 1); }

time_point to_time_point(clock_ns t) noexcept {
  using clock = std::chrono::steady_clock;
  return t == never_ns ? time_point::max()
                       : time_point(std::chrono::duration_cast<clock::duration>(std::chrono::nanoseconds(t)));
}

/// Under a lock of the timers: the alarm, the reactor's or the monitor's, would ring later than `due`.
constexpr auto set_alarm = [](clock_ns due) {
  // Pairs with the reactor's start, as in monitor.cpp's fire_without_reactor().
  if (event_source* const e = installed_events.get())
    e->set_alarm(to_time_point(due));
  else
    sleep_of_monitor.ring();
};

} // namespace

void arm(timer& t) noexcept {
  // Without a reactor the monitor fires: one wake more.
  if (installed_events.peek() == nullptr) try_to_start_events();
  storage.object.arm(t, shard_of_thread(), set_alarm);
}

bool disarm(timer& t) noexcept { return storage.object.disarm(t); }

void fire_timers() noexcept {
  clock_ns const now = to_ns(std::chrono::steady_clock::now());
  static_cast<void>(storage.object.fire(shards_in_use(), now, never_ns, set_alarm));
}

time_point fire_timers_until(time_point latest) noexcept {
  clock_ns const now = to_ns(std::chrono::steady_clock::now());
  // The caller sleeps until the time that it gets: its alarm needs no setting.
  return to_time_point(storage.object.fire(shards_in_use(), now, to_ns(latest), [](clock_ns) {}));
}

void call_off_timers(pool_core const& core) noexcept {
  storage.object.take_out(
      shards_in_use(), [&core](timer const& t) { return t.ends_with(core); }, [](timer& t) { t.call_off(); });
}

void lock_timers() noexcept { storage.object.lock_all(); }
void unlock_timers() noexcept { storage.object.unlock_all(); }
void forget_timers() noexcept { storage.object.clear(); }

} // namespace rubato::detail
