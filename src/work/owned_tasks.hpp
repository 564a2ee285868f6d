// The tasks that wait in a pool: coroutines that have been suspended at least once, continuations
// that are to run there. At its end the pool drops the tasks that no event will resume.
// docs/design/coroutines.md
#pragma once

#include "base/function_ref.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/work/future_state.hpp"

#include <array>
#include <cstddef>

namespace rubato::detail {

class owned_tasks {
  pool_core const* core_;
  /// Holds the tasks that some threads have added: a thread shares the lock with few others.
  struct alignas(64) stripe {
    mutable mutex guard;
    /// By the request that they have had: a walk that asks all of them passes none twice.
    std::array<intrusive_list<owned_task>, 3> tasks RUBATO_GUARDED_BY(guard);

    [[nodiscard]] intrusive_list<owned_task>& asked(stop_level level) noexcept RUBATO_REQUIRES(guard) {
      return tasks[static_cast<std::size_t>(level)];
    }
    [[nodiscard]] bool empty() const noexcept {
      lock_guard const locked(guard);
      return tasks[0].empty() && tasks[1].empty() && tasks[2].empty();
    }
  };
  std::array<stripe, 8> stripes_;

  static void unlink(stripe& s, owned_task& r) noexcept RUBATO_REQUIRES(s.guard);
  [[nodiscard]] static owned_task* next_to_ask(stripe& s, stop_level level) noexcept RUBATO_REQUIRES(s.guard);
  void request(stop_level level) noexcept;

public:
  explicit owned_tasks(pool_core const* core) noexcept
      : core_(core) {}
  void add(owned_task& r) noexcept;
  /// Does nothing if the task was dropped.
  void remove(owned_task& r) noexcept;
  /// The pool drains: ends the tasks' waits for time and for I/O.
  void request_drain() noexcept { request(stop_level::draining); }
  /// The pool discards: asks the tasks to stop, and ends all their waits.
  void request_stop() noexcept { request(stop_level::stopped); }
  /// Moves the tasks that can be withdrawn from what they await into that list. Call it when no thread runs
  /// in the pool. The caller passes the list to drop().
  void withdraw_stuck(intrusive_list<owned_task>& to) noexcept;
  static void drop(intrusive_list<owned_task>& withdrawn) noexcept;
  /// Calls f with each, under the lock of its part: so the task is not destroyed meanwhile, and does not
  /// leave the pool. What f throws is passed on.
  void for_each(function_ref<void(future_state&)> f);
  [[nodiscard]] bool empty() const noexcept;
  /// How many are left. O(that number).
  [[nodiscard]] std::size_t count() const noexcept;
};

} // namespace rubato::detail
