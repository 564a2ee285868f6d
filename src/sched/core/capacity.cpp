#include "sched/core/capacity.hpp"

#include "rubato/cancelled.hpp"
#include "rubato/detail/sched/pool_access.hpp"
#include "sched/core/lifecycle.hpp"
#include "sched/monitor/progress_monitor.hpp"
#include "sched/worker/park.hpp"

namespace rubato::detail {

namespace {

/// A flood from outside must not keep a drain from ending.
constexpr unsigned most_late = 1024;

/// False: max_queued tasks are queued. Throws cancelled if the pool refuses the task.
bool admitted(admission a) {
  if (a == admission::refused) throw cancelled();
  return a == admission::granted;
}

} // namespace

capacity::capacity(pool_core& core, lifecycle const& life, progress_monitor& progress,
                   std::optional<std::size_t> most) noexcept
    : core_(core)
    , life_(life)
    , progress_(progress)
    , limit_(most, most_late) {}

admission capacity::try_acquire() noexcept {
  return limit_.try_acquire(life_.is_late(), [this] { return life_.is_closed(); });
}

bool capacity::admit() noexcept { return !life_.is_late() || limit_.admit_late(); }

void capacity::acquire() {
  while (!admitted(try_acquire())) {
    if (current->core == &core_) {
      wait(thread_of(*current));
      return;
    }
    if (life_.size() == 0) { // no other thread would release any
      on_pool(&handle_of(core_), [this](thread_context& me) { wait(thread_of(me)); });
      return;
    }
    if (admitted(wait_outside())) return;
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
void capacity::wait(pool_thread& t) noexcept {
  queue_limit::waiter self(t.parker);
  limit_.enter(self);
  bool got = false;
  park_until(t, "enqueue", nullptr, [&] { return got || (got = acquire_or_exceed()); });
  limit_.leave(self);
}

bool capacity::acquire_or_exceed() noexcept {
  if (try_acquire() == admission::granted) return true; // a task of the pool is not refused
  if (!progress_.is_stranded()) return false;
  limit_.exceed();
  return true;
}

void admit(pool_core& c) {
  if (!capacity_of(c).admit()) throw cancelled();
}
void acquire_capacity(pool_core& c) { capacity_of(c).acquire(); }
bool try_acquire_capacity(pool_core& c) noexcept {
  return capacity_of(c).try_acquire() == admission::granted;
}
void release_capacity(pool_core& c) noexcept { capacity_of(c).release(); }

} // namespace rubato::detail
