// A handle that cancels a task queued for later.
//
//   #include <rubato/pool.hpp>
//   #include <rubato/timer_handle.hpp>
//
//   #include <cstdio>
//
//   int main() {
//     rubato::pool pool(1);
//     rubato::timer_handle later = pool.enqueue_after(std::chrono::hours(1), [] { std::puts("late"); });
//     if (later.cancel()) std::puts("cancelled"); // -> cancelled
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/sched/future_state.hpp"

#include <utility>

namespace rubato {

/// Refers to the task of a pool::enqueue_after() or enqueue_at(). Dropping the handle cancels nothing.
class timer_handle {
  friend class pool;
  detail::state_ref work_;
  explicit timer_handle(detail::state_ref w) noexcept
      : work_(std::move(w)) {}

public:
  timer_handle() noexcept = default;
  /// Returns true if it cancelled the task, which is then destroyed unrun; false if the task was queued or
  /// cancelled before, or the handle is empty. Thread-safe on different handles.
  bool cancel() noexcept;
};

} // namespace rubato
