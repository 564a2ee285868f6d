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
#include "rubato/detail/base/value_in_std.hpp"
#include "rubato/detail/coro/as_task.hpp"
#include "rubato/detail/coro/fork_group.hpp"
#include "rubato/detail/sched/timer.hpp"
#include "rubato/task.hpp"
#include "rubato/thread_pool.hpp"

#include <chrono>
#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace rubato {

/// A deadline that never comes.
inline constexpr std::chrono::steady_clock::time_point never = std::chrono::steady_clock::time_point::max();

namespace detail {

/// A pool is not idle while one of its timers is armed.
void count_armed(pool_core& c) noexcept;
void count_disarmed(pool_core& c) noexcept;
void count_fired(pool_core& c) noexcept;
/// Is a worker asleep, or looking for work?
[[nodiscard]] bool has_free_worker(pool_core const& c) noexcept;

/// Waits for a point in time.
class [[nodiscard("a sleep begins only when it is awaited: co_await it")]] sleep_awaiter final
    : public wait_operation,
      timer {
  pool_core* counted_ = nullptr; ///< the pool that counts this timer as armed

  void fire() noexcept override {
    count_fired(*counted_);
    end_wait(made_ready_by::event);
  }
  [[nodiscard]] bool insert() noexcept override {
    counted_ = coroutine().home();
    count_armed(*counted_); // until settle(), when the coroutine runs again
    arm(*this);
    return true;
  }
  [[nodiscard]] bool remove() noexcept override { return disarm(*this); }
  void settle() noexcept {
    static_cast<void>(retire());
    if (counted_ != nullptr) count_disarmed(*std::exchange(counted_, nullptr));
  }

public:
  explicit sleep_awaiter(std::chrono::steady_clock::time_point t) noexcept {
    due = t;
    timed = true;
  }
  /// Only before it is awaited.
  sleep_awaiter(sleep_awaiter&& other) noexcept
      : sleep_awaiter(other.due) {}
  sleep_awaiter& operator=(sleep_awaiter&&) = delete;
  ~sleep_awaiter() { settle(); }

  void await_resume() {
    bool const stopped = retire();
    settle();
    if (stopped) throw cancelled();
  }
};

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
  template<class Rep, class Period>
  sleep_awaiter operator()(std::chrono::duration<Rep, Period> d) const {
    return sleep_awaiter(deadline_after(d));
  }
};

struct with_deadline_fn {
  /// co_await with_deadline(awaitable, t): yields a std::optional with the awaitable's result, which is empty
  /// if the awaitable has not ended by t. For void it yields a bool. At t the awaitable is asked to stop, and
  /// with_deadline() ends when the awaitable ends. If the awaitable still yields a value, that value is the
  /// result. The result is also empty if the awaiting task is stopped, or if its pool begins to drain during
  /// the wait. If the pool began to drain before the wait, with_deadline() throws cancelled, unless the
  /// awaitable yields a value. It throws other exceptions of the awaitable. An optional or bool result is
  /// wrapped once more: with_deadline(channel.receive(), t) yields std::optional<std::optional<T>>, which is
  /// empty after t, and holds an empty optional if the channel was closed.
  template<class A>
  auto operator()(A&& awaitable, std::chrono::steady_clock::time_point t) const {
    constexpr bool x_fits = becomes_task<A>;
    static_assert(x_fits, "rubato: with_deadline(x, t): x must be a task, a future or something else that "
                          "co_await takes; std::move a task that has a name");
    if constexpr (x_fits)
      return run(task_of(std::forward<A>(awaitable)), t);
    else
      return refused();
  }
  template<class A, class Rep, class Period>
  auto operator()(A&& awaitable, std::chrono::duration<Rep, Period> d) const {
    return (*this)(std::forward<A>(awaitable), deadline_after(d));
  }

private:
  template<class A>
  static auto task_of(A&& awaitable) {
    if constexpr (says_if_stopped<A>)
      return as_cancellable(std::forward<A>(awaitable));
    else
      return as_task(std::forward<A>(awaitable));
  }

  template<class T>
  using limited = std::conditional_t<std::is_void_v<T>, bool, std::optional<value_in_std<T>>>;

  /// Stops the limited work when it is destroyed, unless the alarm was cancelled: an alarm that its pool
  /// discards, begun or not, ends the time too.
  class bell {
    stop_scope* limit_;
    stop_scope const& own_;
    bool& rang_;

  public:
    bell(stop_scope& limit, stop_scope const& own, bool& rang) noexcept
        : limit_(&limit)
        , own_(own)
        , rang_(rang) {}
    bell(bell&& other) noexcept
        : limit_(std::exchange(other.limit_, nullptr))
        , own_(other.own_)
        , rang_(other.rang_) {}
    bell& operator=(bell&&) = delete;
    ~bell() { ring(); }
    void ring() noexcept {
      stop_scope* const limit = std::exchange(limit_, nullptr);
      if (limit == nullptr || own_.stop_requested()) return;
      rang_ = true;
      limit->request_stop();
    }
  };
  static rubato::task<void> alarm(std::chrono::steady_clock::time_point t, bell b) {
    try {
      co_await sleep_awaiter(t);
    } catch (cancelled const&) { // NOLINT(bugprone-empty-catch): the alarm is cancelled, or the pool ends
    }
    b.ring();
  }
  template<class T>
  static rubato::task<limited<T>> run(rubato::task<T> awaited, std::chrono::steady_clock::time_point t) {
    stop_scope& own = this_trampoline().running->scope();
    bool const late = own.level() == stop_level::draining; // then the pool's timers have ended
    nested_scope limit(own), alarm_scope(own);
    bool rang = false;
    group_of_one<void> clock(alarm_scope.own, alarm(t, bell(limit.own, alarm_scope.own, rang)));
    group_of_one<T> work(limit.own, std::move(awaited));
    clock.group.start_all();
    work.group.start_all();
    co_await work.group.rest();
    alarm_scope.own.request_stop();
    co_await clock.group.rest();
    if (std::exception_ptr const error = work.error(); error != nullptr) {
      if (!is_cancelled(error) || (!rang && !own.stop_requested())) std::rethrow_exception(error);
      if (late) throw cancelled(); // a loop that retries would never end otherwise
      co_return limited<T>{};
    }
    if constexpr (std::is_void_v<T>)
      co_return true;
    else
      co_return limited<T>(std::in_place, work.take());
  }
};

} // namespace detail

inline constexpr detail::sleep_until_fn sleep_until{};
inline constexpr detail::sleep_for_fn sleep_for{};
inline constexpr detail::with_deadline_fn with_deadline{};

/// Periodic ticks without drift, at multiples of the period after construction. One coroutine at a time may
/// use it.
class interval {
  std::chrono::steady_clock::duration period_;
  std::chrono::steady_clock::time_point next_;

public:
  /// Throws std::invalid_argument unless the period is positive. A period beyond the clock's range never
  /// ticks.
  template<class Rep, class Period>
  explicit interval(std::chrono::duration<Rep, Period> period)
      : period_(detail::to_clock(period))
      , next_(std::chrono::steady_clock::now()) {
    if (period_ <= period_.zero()) throw std::invalid_argument("rubato: an interval must be positive");
  }
  /// co_await i.tick(): waits for the next multiple of the period. After a delay the first tick() returns at
  /// once, and the other missed ticks are skipped. Throws cancelled when the task is stopped or its pool
  /// ends.
  detail::sleep_awaiter tick() noexcept {
    auto const now = std::chrono::steady_clock::now();
    next_ = never - next_ > period_ ? next_ + period_ : never;
    if (now - next_ >= period_) next_ += (now - next_) / period_ * period_;
    return detail::sleep_awaiter(next_);
  }
};

} // namespace rubato
