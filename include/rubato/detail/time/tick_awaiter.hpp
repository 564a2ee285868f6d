// A coroutine's wait for the next tick of an interval, alone or in a race. docs/design/timers.md
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/coro/race_wait.hpp"
#include "rubato/detail/coro/waiter.hpp"
#include "rubato/detail/time/sleep_awaiter.hpp"

#include <chrono>
#include <utility>

namespace rubato::detail {

/// The ticks of an interval.
class tick_schedule {
  using clock = std::chrono::steady_clock;
  clock::duration period_;
  clock::time_point next_; ///< not delivered yet

  [[nodiscard]] clock::time_point after(clock::time_point t) const noexcept {
    return clock::time_point::max() - t > period_ ? t + period_ : clock::time_point::max();
  }

public:
  tick_schedule(clock::duration period, clock::time_point begin) noexcept
      : period_(period)
      , next_(after(begin)) {}
  /// The next tick; of those that were missed, the last.
  [[nodiscard]] clock::time_point due(clock::time_point now) const noexcept {
    return now - next_ < period_ ? next_ : next_ + (now - next_) / period_ * period_;
  }
  /// That tick has been delivered.
  void consume(clock::time_point tick) noexcept { next_ = after(tick); }
};

/// The tick is consumed when the coroutine resumes with it. In a race the firer claims the race first, under
/// the lock of the timer's shard: a giver, as of a channel.
class [[nodiscard("a tick is waited for only when it is awaited: co_await it")]] tick_awaiter final
    : public waiter,
      timer {
  tick_schedule* ticks_;
  pool_core* counted_ = nullptr; ///< the pool that counts this timer as armed
  bool is_raced_ = false;
  /// Taken out by the firer, which found the race decided. The threads that remove the timer, of which the
  /// stop's and the coroutine's may be two, look with an exchange: it overwrites no mark of the firer.
  relaxed<bool> is_lost_;

  [[nodiscard]] bool claim() noexcept override {
    race_entry const own = entry();
    bool const is_lost = own.race != nullptr && !own.race->claim(own.index);
    if (is_lost) is_lost_.set(true);
    return !is_lost;
  }
  void fire() noexcept override {
    count_fired(*counted_);
    wake(made_ready_by::event);
  }
  [[nodiscard]] bool is_due() noexcept {
    auto const now = std::chrono::steady_clock::now();
    due = ticks_->due(now);
    return due <= now;
  }
  [[nodiscard]] static bool is_stopped() noexcept { return this_trampoline().running->is_stopped(); }
  [[nodiscard]] bool insert() noexcept override {
    race_entry const own = entry();
    if (is_due() && own.race != nullptr) { // it need not wait
      static_cast<void>(own.race->claim(own.index));
      return false;
    }
    counted_ = this_trampoline().running->home();
    count_armed(*counted_); // until settle(), when the coroutine runs again
    arm(*this);
    return true;
  }
  [[nodiscard]] bool remove() noexcept override { return disarm(*this) || is_lost_.exchange(false); }
  /// The coroutine runs again. Afterwards no firer is in claim().
  void settle() noexcept {
    retire();
    static_cast<void>(disarm(*this));
    if (counted_ != nullptr) count_disarmed(*std::exchange(counted_, nullptr));
  }

public:
  static constexpr bool is_one_step = true, is_timed = true;

  explicit tick_awaiter(tick_schedule& of) noexcept
      : ticks_(&of) {
    timed = true;
  }
  /// Only before it is awaited.
  tick_awaiter(tick_awaiter&& other) noexcept
      : tick_awaiter(*other.ticks_) {}
  tick_awaiter& operator=(tick_awaiter&&) = delete;
  ~tick_awaiter() { settle(); }

  [[nodiscard]] waiter& racer() noexcept {
    is_raced_ = true;
    return *this;
  }
  void leave_race() noexcept override { settle(); }
  /// Before other members of its race begin: wins it if the tick is due.
  void come_first(race& among, std::size_t index) noexcept {
    if (is_due() && !is_stopped()) static_cast<void>(among.claim(static_cast<std::uint32_t>(index)));
  }

  /// Alone it always waits: a loop of late ticks lets other tasks run, and sees a stop.
  [[nodiscard]] bool await_ready() noexcept { return is_raced_ && is_due() && !is_stopped(); }
  void await_resume() {
    bool const stopped = retire();
    settle();
    if (stopped) throw cancelled();
    ticks_->consume(due);
  }
};

} // namespace rubato::detail
