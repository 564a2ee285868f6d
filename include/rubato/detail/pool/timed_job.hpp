// Tasks that are queued at a point in time. docs/design/timers.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/future/detached.hpp"
#include "rubato/detail/future/job.hpp"
#include "rubato/detail/timer/timer.hpp"
#include "rubato/detail/work/task.hpp"

#include <chrono>
#include <cstdint>
#include <utility>

namespace rubato::detail {

/// A task and its timer. The timer has a reference, which passes to the queue when it fires; each handle has
/// one. In no list but the wheel's: the pool's end finds it there.
class RUBATO_API timed_task : public task, timer {
  pool_core& core_;
  references holders_{2}; // the timer's, and that of the first handle

  [[nodiscard]] bool ends_with(pool_core const& core) const noexcept override { return &core == &core_; }
  /// The timer was disarmed: destroys the callable.
  void end(pool_core& core) noexcept;
  void call_off() noexcept override;
  void fire() noexcept override;
  /// Destroys the callable, if it is there.
  virtual void drop() noexcept = 0;
  virtual void dispose() noexcept = 0;

protected:
  timed_task(pool_core& c, exec_type e) noexcept
      : task(e)
      , core_(c) {}
  ~timed_task() = default;
  /// False: the pool discards what has not begun.
  [[nodiscard]] static bool may_run(thread_context const* runner) noexcept;
  /// For the queue: the task has run, or will not.
  void finish() noexcept;

public:
  timed_task(timed_task const&) = delete;
  timed_task& operator=(timed_task const&) = delete;

  /// Called once, by a thread that has a handle.
  void begin(std::chrono::steady_clock::time_point t) noexcept;
  /// For a handle, whose reference it takes. True: the task will not begin, and was dropped.
  bool cancel() noexcept;
  void hold() noexcept { holders_.hold(); }
  void release(std::uint32_t n = 1) noexcept {
    if (holders_.release(n)) dispose();
  }
};

/// Exceptions go to on_unhandled, also those of the task or future that the callable returns.
template<class F>
class timed_job final : public timed_task {
  until_called<F> f_;

  static void run(task& base, thread_context* runner) noexcept {
    auto& self = static_cast<timed_job&>(base);
    if (may_run(runner)) {
      try {
        if constexpr (goes_on<F>)
          queue_detached(*runner->core, nullptr, std::move(self.f_.get()));
        else
          static_cast<void>(call(*runner, std::move(self.f_.get())));
      } catch (...) {
        unhandled(*runner);
      }
    }
    self.finish();
  }
  void drop() noexcept override { f_.reset(); }
  void dispose() noexcept override { free_in_slab(this); }

public:
  template<class G>
  timed_job(pool_core& c, G&& g)
      : timed_task(c, &run)
      , f_(std::forward<G>(g)) {}
};

} // namespace rubato::detail
