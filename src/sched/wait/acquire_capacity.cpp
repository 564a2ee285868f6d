#include "sched/wait/acquire_capacity.hpp"

#include "rubato/cancelled.hpp"
#include "rubato/detail/base/assert.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/wait/park.hpp"

namespace rubato::detail {

namespace {

/// False: max_queued tasks are queued. Throws cancelled if the pool refuses the task.
bool admitted(admission a) {
  if (a == admission::refused) throw cancelled();
  return a == admission::granted;
}

/// If every active thread waits and none can be called to a vacant seat, no capacity would ever be released:
/// the task exceeds the limit.
admission acquire_or_exceed(pool_core& core) noexcept {
  admission const a = core.capacity.try_acquire();
  bool const for_ever =
      a == admission::full && core.size() != 0 && core.waits.all_wait() && core.threads.no_thread_to_call();
  if (!for_ever) return a;
  core.capacity.exceed();
  return admission::granted;
}

/// A task that queues more in its own pool leaves its seat meanwhile.
admission wait_inside(pool_core& core, pool_thread& t) noexcept {
  queue_limit::waiter self(t.parker);
  core.capacity.enter(self);
  admission a = admission::full;
  // No stall: there is capacity, or a task to run. It counts as a wait that outsiders may end, because a
  // caller outside may have been woken for the capacity.
  counted_wait const counted(core.waits, waits::ended_by::outsiders);
  park_until(t, "enqueue", nullptr,
             [&] { return a != admission::full || (a = acquire_or_exceed(core)) != admission::full; });
  core.capacity.leave(self);
  RUBATO_ASSERT(a != admission::full, "a caller goes on without capacity", core.size());
  return a;
}

/// full: the pool has lost its workers meanwhile.
admission wait_outside(pool_core& core) noexcept {
  seats_left const left; // of other pools
  parker bell;
  queue_limit::waiter self(bell);
  core.capacity.enter(self);
  admission a = admission::full;
  while ((a = core.capacity.try_acquire()) == admission::full && core.size() != 0) bell.park();
  core.capacity.leave(self);
  return a;
}

} // namespace

void acquire_capacity(pool_core& core) {
  while (!admitted(core.capacity.try_acquire())) {
    admission a = admission::full;
    if (current->core == &core)
      a = wait_inside(core, thread_of(*current));
    else if (core.size() == 0) // no other thread would release any
      on_pool(&core.handle(), [&](thread_context& me) { a = wait_inside(core, thread_of(me)); });
    else
      a = wait_outside(core);
    if (admitted(a)) return;
  }
}

} // namespace rubato::detail
