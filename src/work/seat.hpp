// A place to work: its queues belong to it, not to the thread that sits there.
#pragma once

#include "rubato/detail/task.hpp"
#include "sync/injector.hpp"
#include "sync/roster.hpp"
#include "sync/run_queue.hpp"
#include "work/counters.hpp"

#include <atomic>

namespace rubato::detail {

using run_queue = basic_run_queue<std_policy, task>;

struct seat : roster_seat {
  unsigned index = 0;
  int cpu = -1;                     ///< where its thread is pinned; -1: nowhere
  std::atomic<task*> slot{nullptr}; ///< runs next; only while the occupant runs a task
  run_queue queue;                  ///< pushed by the occupant, popped by anybody
  injector inbox;                   ///< what must run here
  counters counts;                  ///< written by the occupant
};

} // namespace rubato::detail
