// A handle by which a timed task can be cancelled.
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

#include "rubato/detail/base/counted_ref.hpp"
#include "rubato/detail/pool/timed_job.hpp"

namespace rubato {

/// Refers to the task of a pool::enqueue_after() or enqueue_at(). Dropping the handle cancels nothing.
class timer_handle {
  friend class pool;
  detail::counted_ref<detail::timed_task> task_;
  explicit timer_handle(detail::timed_task* adopted) noexcept
      : task_(adopted) {}

public:
  timer_handle() noexcept = default;
  /// Cancels the task and destroys it unrun. Returns false if the task was queued or cancelled before, or if
  /// the handle is empty. Different threads may use different handles at once. O(1).
  RUBATO_API bool cancel() noexcept;
};

} // namespace rubato
