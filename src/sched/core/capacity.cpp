#include "sched/core/capacity.hpp"

#include "rubato/cancelled.hpp"
#include "rubato/detail/sched/pool_access.hpp"
#include "sched/core/pool_core.hpp"
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

capacity::capacity(pool_core& core, std::optional<std::size_t> most) noexcept
    : core_(core)
    , limit_(most, most_late) {}

admission capacity::try_acquire() noexcept {
  return limit_.try_acquire(core_.life.is_late(), [this] { return core_.life.is_closed(); });
}

bool capacity::admit() noexcept { return !core_.life.is_late() || limit_.admit_late(); }

void capacity::acquire() {
  while (!admitted(try_acquire())) {
    if (current->core == &core_) {
      wait(thread_of(*current));
      return;
    }
    if (core_.size() == 0) { // no other thread would release any
      on_pool(&core_.handle(), [this](thread_context& me) { wait(thread_of(me)); });
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
  while ((a = try_acquire()) == admission::full && core_.size() != 0) bell.park();
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
  if (!core_.progress.is_stranded()) return false;
  limit_.exceed();
  return true;
}

void admit(pool_core& c) {
  if (!c.capacity.admit()) throw cancelled();
}
void acquire_capacity(pool_core& c) { c.capacity.acquire(); }
bool try_acquire_capacity(pool_core& c) noexcept { return c.capacity.try_acquire() == admission::granted; }
void release_capacity(pool_core& c) noexcept { c.capacity.release(); }

} // namespace rubato::detail
