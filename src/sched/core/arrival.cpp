#include "rubato/detail/sched/arrival.hpp"

#include "rubato/cancelled.hpp"
#include "sched/core/capacity.hpp"
#include "sched/core/lifecycle.hpp"
#include "sched/core/quiescence.hpp"
#include "sched/process/hazard_guard.hpp"

namespace rubato::detail {

arrival::arrival(pool_core& c, arriving what)
    : core_(&c) {
  if (what == arriving::task) {
    capacity_of(c).acquire();
    holds_capacity_ = true;
  }
  if (enter(what)) return;
  if (holds_capacity_) leave(); // no destructor will
  throw cancelled();
}

arrival::arrival(pool_core& c, at_once /*tag*/, arriving what) noexcept
    : core_(&c) {
  if (what == arriving::task) {
    holds_capacity_ = capacity_of(c).try_acquire() == admission::granted;
    if (holds_capacity_ && enter(what)) return;
  } else if (enter(what)) {
    return;
  }
  if (holds_capacity_) leave();
  core_ = nullptr;
}

/// False: the pool refuses the work.
bool arrival::enter(arriving what) noexcept {
  lifecycle& life = life_of(*core_);
  auto const is_refused = [&] {
    return what == arriving::begun ? life.is_discarding() || life.stays_closed() : life.refuses_work();
  };
  // Before it is counted: callers that are refused again and again must not keep a shutdown waiting.
  if (is_refused() || (what == arriving::unlimited && !capacity_of(*core_).admit())) return false;
  if (current->core == core_) return true; // in a task of the pool, which does not close meanwhile
  quiescence_of(*core_).armed();
  is_counted_ = true;
  // Pairs with close_pool(): the caller sees that the pool is closed, or the pool that work arrives.
  if (!is_refused()) return true;
  leave();
  return false;
}

void arrival::leave() noexcept {
  if (std::exchange(holds_capacity_, false)) capacity_of(*core_).release();
  if (!std::exchange(is_counted_, false)) return;
  hazard_guard const here(*core_); // it is alive as long as it counts the arrival
  quiescence_of(*core_).disarmed();
}

} // namespace rubato::detail
