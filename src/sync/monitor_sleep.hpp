// The sleep of the monitor, and how other threads end it. docs/design/monitor.md
//
// States: awake, or asleep for less than a millisecond; in light sleep; asleep. The monitor alone moves down;
// it or one thread that nudges it moves up. alarm_ counts what ends a sleep.
//
// Must not occur: the monitor sleeps, and an event that wants its attention is never seen.
// - An event with a nudge: the thread makes the event and then loads depth_, both seq_cst; the monitor stores
//   depth_, executes a fence and then looks. So the monitor sees the event or the thread sees the depth.
// - A fork makes no nudge. The monitor stores depth_, executes a fence, arms the poll of each chain and
//   looks. An owner that polls lowers its limit, executes a fence and loads depth_. If that fence comes
//   first, the monitor sees what the owner had pushed, and arms a poll that the owner has not lowered;
//   else the owner sees the depth. A fork that loaded its limit before it was armed may push after the
//   look: its owner's next fork polls, and the monitor looks once more before it sleeps without a
//   timeout.
// - The monitor reads alarm_ before it looks, and sleeps only while alarm_ has that value: a wake between the
//   look and the sleep ends the sleep.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"

#include <cstdint>

namespace rubato::detail {

/// How deep the monitor sleeps: not at all or for less than a millisecond; for 10 ms, because tasks are ready
/// behind busy workers; without a timeout.
enum class monitor_rest : unsigned char { awake, light, asleep };

template<class Policy>
class basic_monitor_sleep {
  typename Policy::template atomic<monitor_rest> depth_{monitor_rest::asleep};
  typename Policy::template atomic<std::uint32_t> alarm_{0};

  /// One of the threads that see it sleep wakes it.
  [[gnu::noinline]] void wake() noexcept {
    // relaxed: nudge() has ordered the event before a look that follows the next announce().
    if (depth_.exchange(monitor_rest::awake, std::memory_order_relaxed) != monitor_rest::awake) ring();
  }

public:
  constexpr basic_monitor_sleep() noexcept = default;

  // Any thread

  /// After an event that may want the monitor's attention: wakes it if it sleeps at least as deep as `depth`.
  /// asleep: work was queued. light: one thread is busy while another sleeps, or every thread waits. One
  /// load otherwise.
  void nudge(monitor_rest depth = monitor_rest::asleep) noexcept {
    // seq_cst, as the event: pairs with the fence in announce().
    if (depth_.load(std::memory_order_seq_cst) >= depth) wake();
  }
  /// By the owner of a chain that was told to poll, after serve_request(). The caller reads what else it must
  /// know after this call.
  [[nodiscard]] bool rests_after_poll() noexcept {
    Policy::fence(); // pairs with announce(), because the monitor looks at the chains after its own fence
    return depth_.load(std::memory_order_relaxed) >= monitor_rest::light;
  }
  /// Ends a sleep without a look at the pools: a timer is due earlier than the monitor knows.
  void ring() noexcept {
    // release: pairs with alarm(), because the monitor sees what the caller did before.
    alarm_.fetch_add(1, std::memory_order_release);
    Policy::futex_wake(alarm_, 1);
  }

  // The monitor

  /// To be read before it looks for anything. acquire: pairs with ring().
  [[nodiscard]] std::uint32_t alarm() const noexcept { return alarm_.load(std::memory_order_acquire); }
  /// After it, the monitor arms the poll of every chain and looks at every pool.
  void announce(monitor_rest depth) noexcept {
    RUBATO_ASSERT(depth != monitor_rest::awake, "the monitor announces a sleep and stays awake", depth);
    // relaxed, as all accesses of the monitor to depth_: the fence orders it.
    depth_.store(depth, std::memory_order_relaxed);
    Policy::fence(); // pairs with nudge() and rests_after_poll()
  }
  /// No thread has woken it since announce(asleep).
  [[nodiscard]] bool is_left_asleep() const noexcept {
    return depth_.load(std::memory_order_relaxed) == monitor_rest::asleep;
  }
  void rise() noexcept { depth_.store(monitor_rest::awake, std::memory_order_relaxed); }
  /// Sleeps until `latest`, unless the alarm has rung since it had this value.
  template<class... Deadline>
  void sleep(std::uint32_t alarm, Deadline const&... latest) noexcept {
    if constexpr (sizeof...(Deadline) == 0)
      Policy::futex_wait(alarm_, alarm);
    else
      static_cast<void>(Policy::futex_wait_until(alarm_, alarm, latest...));
  }

  /// Sleeps until a thread nudges it or `look()`, which arms the polls first, returns true. `light(alarm)`
  /// calls sleep(), and may return for no reason.
  template<class Look, class LightSleep>
  void sleep_deeply(Look look, LightSleep light) noexcept {
    announce(monitor_rest::asleep);
    for (;;) {
      // wake() changes depth_ first, then the alarm. A timer changes the alarm alone, and so the monitor need
      // not look at the pools: what a timer makes ready is queued, which wakes a worker.
      std::uint32_t const then = alarm();
      if (!is_left_asleep() || look()) break;
      light(then);
    }
    rise();
  }

  /// In the child of fork(), which has no monitor yet.
  void reset() noexcept { depth_.store(monitor_rest::asleep, std::memory_order_relaxed); }
};

using monitor_sleep = basic_monitor_sleep<std_policy>;

} // namespace rubato::detail
