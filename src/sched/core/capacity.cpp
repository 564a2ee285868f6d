#include "sched/core/capacity.hpp"

#include "rubato/cancelled.hpp"
#include "rubato/detail/sched/pool_access.hpp"
#include "sched/life/lifecycle.hpp"
#include "sched/wait/park.hpp"
#include "sched/watch/progress_monitor.hpp"

namespace rubato::detail {

namespace {

/// A flood from outside must not keep a drain from ending.
constexpr int most_late = 1024;

/// False: max_queued tasks are queued. Throws cancelled if the pool refuses the task.
bool admitted(admission a) {
  if (a == admission::refused) throw cancelled();
  return a == admission::granted;
}

} // namespace

capacity::capacity(pool_core& core, lifecycle& life, progress_monitor& progress,
                   std::optional<std::size_t> most) noexcept
    : core_(core)
    , life_(life)
    , progress_(progress)
    , limit_(most, most_late) {}

admission capacity::try_acquire() noexcept {
  return life_.refuses_work() ? admission::refused : limit_.try_acquire(life_.is_late());
}

bool capacity::admit() noexcept { return !life_.is_late() || limit_.admit_late(); }

void capacity::acquire() {
  while (!admitted(try_acquire())) {
    admission a = admission::full;
    if (current->core == &core_)
      a = wait(thread_of(*current));
    else if (life_.size() == 0) // no other thread would release any
      on_pool(&handle_of(core_), [&](thread_context& me) { a = wait(thread_of(me)); });
    else
      a = wait_outside();
    if (admitted(a)) return;
  }
}

/// full: the pool has lost its workers meanwhile.
admission capacity::wait_outside() noexcept {
  seats_left const left; // of other pools
  parker bell;
  queue_limit::waiter self(bell);
  limit_.enter(self);
  admission a = admission::full;
  while ((a = try_acquire()) == admission::full && life_.size() != 0) bell.park();
  limit_.leave(self);
  return a;
}

/// A task that queues more in its own pool leaves its seat meanwhile. If every active thread waits and none
/// can be called to that seat, no capacity would ever be released: the task exceeds the limit.
admission capacity::wait(pool_thread& t) noexcept {
  queue_limit::waiter self(t.parker);
  limit_.enter(self);
  admission a = admission::full;
  // Never a stall: there is capacity, or a task to run. A caller outside may have been woken for the
  // capacity.
  counted_wait const counted(progress_, progress_monitor::ended_by::outsiders);
  park_until(t, "enqueue", nullptr,
             [&] { return a != admission::full || (a = acquire_or_exceed()) != admission::full; });
  limit_.leave(self);
  return a;
}

admission capacity::acquire_or_exceed() noexcept {
  admission const a = try_acquire();
  if (a != admission::full || !progress_.is_stranded()) return a;
  limit_.exceed();
  return admission::granted;
}

void release_capacity(pool_core& c) noexcept { capacity_of(c).release(); }

} // namespace rubato::detail
