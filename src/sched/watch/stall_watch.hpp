// A pool in which every thread waits for the pool's own work: on_stall. docs/design/monitor.md
#pragma once

#include "rubato/pool_options.hpp"
#include "sched/core/watch_notes.hpp"

namespace rubato::detail {

class pool_core;

/// The monitor's look at the waits of one pool.
class stall_watch {
  pool_core& core_;
  watch_notes& notes_;

  [[nodiscard]] bool any_woken() const noexcept;
  [[nodiscard]] bool is_jammed() const noexcept;
  void ask_for_report() noexcept;
  [[nodiscard]] stall_report describe() const;

public:
  explicit stall_watch(pool_core& core) noexcept;
  /// Called while tasks are queued. Asks a thread to report a jam (see watch_notes.hpp) that has lasted for a
  /// second, in which no thread has passed a task boundary or ended a wait.
  void look_for_jam(os::ticks now) noexcept;
  /// Asks a thread to report, if only the pool can end the waits of all active threads, and nothing is ready
  /// or no thread can be made for what is. True: look again.
  [[nodiscard]] bool look_for_stall() noexcept;
  /// By the thread that was asked: calls on_stall, which is user code, or prints.
  void report() const noexcept;
};

} // namespace rubato::detail
