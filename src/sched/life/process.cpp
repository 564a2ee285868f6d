#include "sched/life/process.hpp"

#include "os/io/process.hpp"
#include "rubato/detail/memory/slab.hpp"
#include "sched/core/outside_waiters.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/core/pool_registry.hpp"
#include "sched/watch/monitor.hpp"
#include "timer/timers.hpp"
#include "trace/reader/live/live_session.hpp"
#include "trace/recorder.hpp"
#include "work/hazard_guard.hpp"

namespace rubato::detail {

namespace {

// fork() copies the process's memory but only the thread that calls it.
void before_fork() RUBATO_NOT_ANALYSED {
  start_mutex.lock();
  pools_of_process.lock();
  lock_slabs();
  lock_hazards();
  lock_timers();
  lock_outside_waiters();
}
void after_fork_in_parent() RUBATO_NOT_ANALYSED {
  unlock_outside_waiters();
  unlock_timers();
  unlock_hazards();
  unlock_slabs();
  pools_of_process.unlock();
  start_mutex.unlock();
}
void after_fork_in_child() RUBATO_NOT_ANALYSED {
  forget_outside_waiters();
  unlock_outside_waiters();
  forget_timers();
  unlock_timers();
  forget_other_hazards();
  unlock_hazards();
  unlock_slabs();
  forget_monitor();
  pools_of_process.leave_all_behind([](pool_core& core) {
    core.life.abandon();
    lose_core(core.handle(), core.size());
  });
  pools_of_process.unlock();
  start_mutex.unlock();
  current = &outside;
}

} // namespace

void enter_process(pool_core& core) {
  record_if_asked(); // first, so that its part of a fork is the innermost
  show_if_asked();
  static bool const handlers =
      (os::register_fork_handlers(before_fork, after_fork_in_parent, after_fork_in_child), true);
  static_cast<void>(handlers);
  pools_of_process.add(core.registered, [] { start_monitor(); });
}

} // namespace rubato::detail
