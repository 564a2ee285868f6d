// A thread that takes tasks out of queues and puts them elsewhere. docs/design/parking.md
#pragma once

#include "rubato/detail/work/pool_port.hpp"
#include "sched/core/quiescence.hpp"
#include "work/task_queues.hpp"

namespace rubato::detail {

/// While it lives, tasks may be in no queue, and the pool does not count as quiescent. Threads may have
/// looked in between: so at its end it wakes some for what is queued, or the waiters if nothing is left to
/// do.
class moving_tasks {
  struct told_at_the_end {
    pool_core& core;
    ~told_at_the_end() {
      unpark_for_inboxes(core);
      if (queues_of(core).any_shared()) notify(core);
      quiescence_of(core).notify_if_quiet();
    }
  };
  told_at_the_end const told_; // first, and so destroyed last: after the transit
  quiet::in_transit const moving_;

public:
  explicit moving_tasks(pool_core& core) noexcept
      : told_{core}
      , moving_(quiescence_of(core).begin_transit()) {}
  moving_tasks(moving_tasks const&) = delete;
  moving_tasks& operator=(moving_tasks const&) = delete;
  ~moving_tasks() = default;
};

} // namespace rubato::detail
