#include "sched/core/pool_registry.hpp"

#include "os/io/process.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/memory/slab.hpp"
#include "sched/core/outside_waiters.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/watch/monitor.hpp"
#include "timer/timers.hpp"

namespace rubato::detail {

namespace {

// Never destroyed: pools with static storage end after everything else.
struct registry {
  mutex guard;
  intrusive_list<pool_core> pools RUBATO_GUARDED_BY(guard);
  intrusive_list<pool_core> behind RUBATO_GUARDED_BY(guard); // left in the parent by fork(); never destroyed
};
constinit registry of_process;

/// Under the lock of the list. The pool may be gone.
bool is_in(intrusive_list<pool_core> const& pools, pool_core const* core) noexcept {
  pool_core* p = pools.front();
  while (p != nullptr && p != core) p = intrusive_list<pool_core>::after(*p);
  return p != nullptr;
}

// fork() copies the process's memory but only the thread that calls it.
void before_fork() RUBATO_NOT_ANALYSED {
  start_mutex().lock();
  of_process.guard.lock();
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
  of_process.guard.unlock();
  start_mutex().unlock();
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
  while (pool_core* const p = of_process.pools.pop_front()) {
    p->life.abandon();
    of_process.behind.push_front(*p);
  }
  of_process.guard.unlock();
  start_mutex().unlock();
  current = &outside;
}

} // namespace

void add_to_registry(pool_core& core) {
  static bool const handlers =
      (os::register_fork_handlers(before_fork, after_fork_in_parent, after_fork_in_child), true);
  static_cast<void>(handlers);
  lock_guard const guard(of_process.guard);
  start_monitor();
  of_process.pools.push_front(core);
}

void remove_from_registry(pool_core& core) noexcept {
  lock_guard const guard(of_process.guard);
  of_process.pools.erase(core);
}

bool guard_if_there(pool_core const* core, std::optional<hazard_guard>& here) noexcept {
  if (core == nullptr) return false;
  lock_guard const guard(of_process.guard);
  if (!is_in(of_process.pools, core)) return false;
  here.emplace(*core); // before it can leave the registry: its destructor waits for this guard
  return true;
}

std::uint64_t serial_of(pool_core const& core) noexcept { return core.serial; }

bool guard_if_there(pool_core const* core, std::uint64_t serial, std::optional<hazard_guard>& here) noexcept {
  if (guard_if_there(core, here) && core->serial == serial) return true;
  here.reset();
  return false;
}

bool was_left_behind(pool_core const* core) noexcept {
  lock_guard const guard(of_process.guard);
  return is_in(of_process.behind, core);
}

void wake_all_waiters() noexcept {
  lock_guard const guard(of_process.guard);
  of_process.pools.for_each([](pool_core& p) { p.threads.unpark_all(); });
}

bool find_pool(function_ref<bool(progress_monitor&)> f) noexcept {
  lock_guard const guard(of_process.guard);
  for (pool_core* p = of_process.pools.front(); p != nullptr; p = of_process.pools.after(*p))
    if (f(p->progress)) return true;
  return false;
}

} // namespace rubato::detail
