// A coroutine's wait for a point in time. docs/design/timers.md
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/coro/coroutine_task.hpp"
#include "rubato/detail/timer/timer.hpp"
#include "rubato/detail/work/pool_port.hpp"

#include <chrono>
#include <utility>

namespace rubato::detail {

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
    retire();
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
  [[nodiscard]] awaited_object awaited() const noexcept override { return {.until = due}; }

  void await_resume() {
    bool const stopped = retire();
    settle();
    if (stopped) throw cancelled();
  }
};

} // namespace rubato::detail
