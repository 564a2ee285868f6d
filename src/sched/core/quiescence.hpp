// When nothing is left to do in a pool, and the threads that wait for that. The protocol is in
// sync/quiet.hpp.
#pragma once

#include "base/thread_number.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "sync/idle_set.hpp"
#include "sync/quiet.hpp"

#include <chrono>
#include <cstdint>

namespace rubato::detail {

class life_state;
class pool_core;
class task_queues;

class quiescence {
  pool_core& core_;
  life_state& life_;
  task_queues const& queues_;
  idle_set const& idle_threads_;
  quiet state_;
  relaxed<std::uint64_t> timers_fired_; // for stats()

public:
  quiescence(pool_core& core, life_state& life, task_queues const& queues,
             idle_set const& idle_threads) noexcept
      : core_(core)
      , life_(life)
      , queues_(queues)
      , idle_threads_(idle_threads) {}

  /// False: a thread will call notify_if_quiet() later.
  [[nodiscard]] bool now() const noexcept;
  /// By a thread that has become active without a search: a guest, or a thread that was taken for relief or
  /// for a task aside. The end of a search is counted on the seat.
  void thread_began() noexcept { state_.began(); }
  /// While the result lives, the caller takes tasks out of queues without running them.
  [[nodiscard]] quiet::in_transit begin_transit() noexcept { return quiet::in_transit(state_); }
  /// By a thread that went idle, left the pool or began to search: it may have been the last one that ran.
  void notify_if_quiet() noexcept;
  /// Wakes the threads that wait here: they look again.
  void notify_all() noexcept { state_.notify_all(); }
  [[nodiscard]] bool is_awaited() const noexcept { return state_.is_awaited(); }

  /// For a wait: the thread calls changes(), looks for the last time, then calls sleep().
  using announcement = quiet::announcement;
  [[nodiscard]] announcement announce() noexcept { return announcement(state_); }
  [[nodiscard]] std::uint32_t changes() const noexcept { return state_.changes(); }
  /// False: the deadline has passed.
  [[nodiscard]] bool sleep(std::uint32_t changes, std::chrono::steady_clock::time_point deadline) noexcept;
  /// Sleeps until `done()` or the deadline. notify_all() follows what makes it true.
  template<class Done>
  void await(Done done,
             std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max()) {
    announcement const announced(state_);
    for (;;) {
      std::uint32_t const changes = state_.changes();
      if (done() || !sleep(changes, deadline)) return;
    }
  }

  // Timers
  /// A timer is running whose end makes work ready; until disarmed() the pool is not idle.
  void armed() noexcept { state_.arm(thread_number()); }
  /// The timer has ended, and the work that its end made ready is queued. By a thread of the pool, or by the
  /// thread that has ended the timer.
  void disarmed() noexcept;
  /// A timer is due. By the thread that fires it.
  void fired() noexcept { timers_fired_.add(1); }
  [[nodiscard]] bool any_armed() const noexcept { return state_.any_armed(); }
  [[nodiscard]] std::uint64_t how_many_armed() const noexcept { return state_.armed(); }
  [[nodiscard]] std::uint64_t timers_fired() const noexcept { return timers_fired_.get(); }
};

} // namespace rubato::detail
