// The tasks that wait in a pool: coroutines that have been suspended at least once, timers, continuations
// that are to run there. At its end the pool drops the tasks that no event will resume.
// docs/design/coroutines.md
#pragma once

#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/sched/future_state.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace rubato::detail {

class owned_tasks {
  struct alignas(64) stripe {
    mutable mutex guard;
    intrusive_list<owned_task> tasks;
  };
  std::array<stripe, 8> stripes_;

  [[nodiscard]] stripe& stripe_of(owned_task const& r) noexcept {
    return stripes_[reinterpret_cast<std::uintptr_t>(&r) / 64 % stripes_.size()];
  }

  static void unlink(stripe& s, owned_task& r) noexcept;
  template<class Wanted, class F>
  void for_each(Wanted wanted, F f) noexcept;
  [[nodiscard]] bool lives_here(future_state const& work) const noexcept;

public:
  void add(owned_task& r) noexcept;
  /// Does nothing if the task was dropped.
  void remove(owned_task& r) noexcept;
  /// The pool drains: ends the tasks' waits for time and for I/O.
  void request_drain() noexcept;
  /// The pool discards: asks the tasks to stop, and ends all their waits.
  void request_stop() noexcept;
  /// Drops the tasks that can be withdrawn from what they await. True: at least one. Call it when no thread
  /// runs in the pool.
  bool drop_stuck() noexcept;
  /// How many are left.
  [[nodiscard]] std::size_t count() const noexcept;
};

} // namespace rubato::detail
