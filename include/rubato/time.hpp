// Waits for points in time, and deadlines for other waits, in coroutines.
//
//   #include <rubato/spawn.hpp>
//   #include <rubato/time.hpp>
//
//   #include <cstdio>
//
//   rubato::task<bool> ends_in_time() {
//     using namespace std::chrono_literals;
//     co_return co_await rubato::with_deadline(rubato::sleep_for(1h), 1ms); // 1 ms stops the sleep
//   }
//
//   int main() {
//     std::puts(rubato::block_on(ends_in_time()) ? "in time" : "too late"); // -> too late
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/base/deadline.hpp"
#include "rubato/detail/time/deadline_alarm.hpp"
#include "rubato/detail/time/tick_awaiter.hpp"
#include "rubato/task.hpp"
#include "rubato/thread_pool.hpp"

#include <chrono>
#include <stdexcept>
#include <utility>

namespace rubato {

/// A deadline that never comes.
inline constexpr std::chrono::steady_clock::time_point never = std::chrono::steady_clock::time_point::max();

namespace detail {

struct sleep_until_fn {
  /// co_await sleep_until(t): resumes at t, never earlier. Throws cancelled when the task is stopped or its
  /// pool ends. Arming and cancelling the timer take O(1) and allocate nothing. Source: hierarchical timing
  /// wheels (G. Varghese, T. Lauck, SOSP 1987).
  sleep_awaiter operator()(std::chrono::steady_clock::time_point t) const noexcept {
    return sleep_awaiter(t);
  }
};
struct sleep_for_fn {
  /// co_await sleep_for(d): sleep_until(), a duration from now. A d beyond the clock's range means never.
  sleep_awaiter operator()(delay d) const { return sleep_awaiter(deadline_after(d)); }
};

struct with_deadline_fn {
  /// co_await with_deadline(awaitable, t): yields a std::optional with the awaitable's result, which is empty
  /// if the awaitable has not ended by t, a point in time or a duration from now. For void it yields a bool.
  /// At t the awaitable is asked to stop, by a task of the pool: some 20 ms later if all threads of the pool
  /// compute, and not at all while no thread is left (known limit 4). with_deadline() ends when the awaitable
  /// ends. The wait for a future ends then, and the future's work may go on until it sees the stop. If the
  /// awaitable still yields a value, that value is the result. The result is also empty if the awaiting task
  /// is stopped or its pool begins to drain during the wait. If that was so before the wait, with_deadline()
  /// throws cancelled, unless the awaitable yields a value, as one that is ready does: so a loop that tries
  /// again ends. It throws other exceptions of the awaitable. An optional or bool result is wrapped once
  /// more: with_deadline(channel.receive(), t) yields std::optional<std::optional<T>>, which is empty after
  /// t, and holds an empty optional if the channel was closed.
  template<class A>
  auto operator()(A&& awaitable, deadline t) const {
    return await_until(std::forward<A>(awaitable), t.at);
  }
};

} // namespace detail

inline constexpr detail::sleep_until_fn sleep_until{};
inline constexpr detail::sleep_for_fn sleep_for{};
inline constexpr detail::with_deadline_fn with_deadline{};

/// Periodic ticks without drift, at multiples of the period after construction. One coroutine at a time may
/// use it.
///
/// **In a race.** A tick is consumed when it is delivered: a tick() that loses a when_any(), or that a
/// deadline or a stop ends, has had no effect, and the next tick() waits for the same tick. If several
/// arguments of a when_any() with a tick are ready, each of them has a chance: a channel that always holds a
/// value does not keep a tick from being delivered.
class interval {
  detail::tick_schedule ticks_;
  static std::chrono::steady_clock::duration checked(std::chrono::steady_clock::duration period) {
    if (period <= period.zero()) throw std::invalid_argument("rubato: an interval must be positive");
    return period;
  }

public:
  /// Throws std::invalid_argument unless the period is positive. A period beyond the clock's range never
  /// ticks.
  explicit interval(detail::delay period)
      : ticks_(checked(period.in_clock), std::chrono::steady_clock::now()) {}
  /// co_await i.tick(): waits for the next multiple of the period. After a delay the next tick() returns at
  /// once, and the other missed ticks are skipped. Throws cancelled when the task is stopped or its pool
  /// ends. The interval must live until the wait has ended.
  detail::tick_awaiter tick() noexcept { return detail::tick_awaiter(ticks_); }
};

} // namespace rubato
