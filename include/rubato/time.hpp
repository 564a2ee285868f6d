// Waiting for time, in coroutines and on pools.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/detail/as_task.hpp"
#include "rubato/detail/deadline.hpp"
#include "rubato/detail/siblings.hpp"
#include "rubato/detail/timer.hpp"
#include "rubato/detail/value_in_std.hpp"
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

/// A deadline that does not come.
inline constexpr std::chrono::steady_clock::time_point never = std::chrono::steady_clock::time_point::max();

namespace detail {

/// The pool is not idle as long as one of its timers runs.
void count_armed(pool_core& c) noexcept;
void count_disarmed(pool_core& c) noexcept;
void count_fired(pool_core& c) noexcept;

/// co_await of a point in time.
class [[nodiscard("a sleep begins only when it is awaited: co_await it")]] sleep_awaiter final
    : public own_awaitable,
      suspension {
  struct wake final : timer {
    sleep_awaiter& self;
    explicit wake(sleep_awaiter& s) noexcept
        : timer(&fired)
        , self(s) {}
    static void fired(timer& t) noexcept {
      sleep_awaiter& self = static_cast<wake&>(t).self;
      count_fired(*self.counted_);
      self.end_wait();
    }
  };

  wake timer_{*this};
  pool_core* counted_ = nullptr; ///< whose armed timers it is among

  [[nodiscard]] bool insert() override {
    counted_ = who().home();
    count_armed(*counted_); // until the coroutine runs again
    arm(timer_);
    return true;
  }
  [[nodiscard]] bool remove() noexcept override { return disarm(timer_); }
  void settle() noexcept {
    static_cast<void>(retire());
    if (counted_ != nullptr) count_disarmed(*std::exchange(counted_, nullptr));
  }

public:
  explicit sleep_awaiter(std::chrono::steady_clock::time_point t) noexcept {
    timer_.due = t;
    timed = true;
  }
  /// Before it is awaited.
  sleep_awaiter(sleep_awaiter&& other) noexcept
      : sleep_awaiter(other.timer_.due) {}
  sleep_awaiter& operator=(sleep_awaiter&&) = delete;
  ~sleep_awaiter() { settle(); }

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template<std::derived_from<own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) {
    return suspend(h);
  }
  void await_resume() {
    bool const stopped = retire();
    settle();
    if (stopped) throw cancelled();
  }
};

struct sleep_until_fn {
  /// co_await sleep_until(t): not before t. Throws cancelled when the task is stopped or its pool ends.
  sleep_awaiter operator()(std::chrono::steady_clock::time_point t) const noexcept {
    return sleep_awaiter(t);
  }
};
struct sleep_for_fn {
  /// co_await sleep_for(d): the same for a duration, saturating.
  template<class Rep, class Period>
  sleep_awaiter operator()(std::chrono::duration<Rep, Period> d) const {
    return sleep_awaiter(deadline_after(d));
  }
};

struct with_deadline_fn {
  /// co_await with_deadline(awaitable, t): what the awaitable yields, or nothing if it has not ended by then:
  /// std::optional, for void bool. At t it is asked to stop, and it has ended when this does; if it brings a
  /// value all the same, that counts. Nothing as well if the awaiting task is stopped from outside, or its
  /// pool begins to drain; begun later it throws cancelled. Exceptions are thrown, but for the cancelled that
  /// either has caused. What yields an optional or a bool itself is wrapped once more:
  /// with_deadline(channel.receive(), t) yields std::optional<std::optional<T>>, empty if the time is over,
  /// and holding an empty one if the channel was closed. A task that ends with a value when it is stopped
  /// yields that value though the time is over.
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
  using limited = std::conditional_t<std::is_void_v<T>, bool, std::optional<storable<T>>>;

  /// Rings when it goes, unless it was called off: an alarm that its pool discards, begun or not, is the end
  /// of the time.
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
    } catch (cancelled const&) { // NOLINT(bugprone-empty-catch): called off; or the pool ends, and its timers
    }
    b.ring();
  }
  template<class T>
  static rubato::task<limited<T>> run(rubato::task<T> awaited, std::chrono::steady_clock::time_point t) {
    stop_scope& own = this_trampoline().running->scope();
    bool const late = own.level() == stop_level::draining; // then the pool has no timers any more
    stop_link limit_around(&own);
    stop_scope limit(limit_around);
    stop_link alarm_around(&own);
    stop_scope alarm_scope(alarm_around);
    bool rang = false;
    siblings<1> clock(alarm_scope, nullptr, alarm(t, bell(limit, alarm_scope, rang)));
    siblings<1> work(limit, nullptr, std::move(awaited));
    clock.group.start_all();
    work.group.start_all();
    co_await work.group.rest();
    alarm_scope.request_stop();
    co_await clock.group.rest();
    if (std::exception_ptr const error = work[0].error(); error != nullptr) {
      if (!is_cancelled(error) || (!rang && !own.stop_requested())) std::rethrow_exception(error);
      if (late) throw cancelled(); // or a loop that tries again would never end
      co_return limited<T>{};
    }
    if constexpr (std::is_void_v<T>)
      co_return true;
    else
      co_return limited<T>(std::in_place, work[0].template result<T>().take());
  }
};

} // namespace detail

inline constexpr detail::sleep_until_fn sleep_until{};
inline constexpr detail::sleep_for_fn sleep_for{};
inline constexpr detail::with_deadline_fn with_deadline{};

/// Periodic ticks without drift: at multiples of the period after its construction. For one coroutine at a
/// time.
class interval {
  std::chrono::steady_clock::duration period_;
  std::chrono::steady_clock::time_point next_;

public:
  /// The period must be positive, else std::invalid_argument. One that is beyond the clock never ticks.
  template<class Rep, class Period>
  explicit interval(std::chrono::duration<Rep, Period> period)
      : period_(detail::to_clock(period))
      , next_(std::chrono::steady_clock::now()) {
    if (period_ <= period_.zero()) throw std::invalid_argument("rubato: an interval must be positive");
  }
  /// co_await i.tick(): until the next multiple of the period. After a delay one tick comes at once and the
  /// missed ones are left out.
  detail::sleep_awaiter tick() noexcept {
    auto const now = std::chrono::steady_clock::now();
    next_ = never - next_ > period_ ? next_ + period_ : never;
    if (now - next_ >= period_) next_ += (now - next_) / period_ * period_;
    return detail::sleep_awaiter(next_);
  }
};

} // namespace rubato
