#include "rubato/detail/sched/wait/arrival.hpp"

#include "rubato/cancelled.hpp"
#include "sched/core/capacity.hpp"
#include "sched/core/life_state.hpp"
#include "sched/core/quiescence.hpp"
#include "sched/wait/acquire_capacity.hpp"
#include "work/hazard_guard.hpp"

namespace rubato::detail {

arrival::arrival(pool_core& c, arriving what)
    : core_(&c) {
  if (what == arriving::task) {
    acquire_capacity(c);
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
  life_state& life = life_of(*core_);
  auto const is_refused = [&] {
    return what == arriving::begun ? life.is_discarding() || life.stays_closed() : life.refuses_work();
  };
  // Before it is announced: callers that are refused again and again must not keep a shutdown waiting.
  if (is_refused() || (what == arriving::unlimited && !capacity_of(*core_).admit())) return false;
  if (current->core == core_) return true; // in a task of the pool, which does not close meanwhile
  own_hazards.begin_arrival(*core_);
  is_announced_ = true;
  // Pairs with close_pool(): the caller sees that the pool is closed, or the pool that work arrives.
  if (!is_refused()) return true;
  leave();
  return false;
}

void arrival::leave() noexcept {
  if (std::exchange(holds_capacity_, false)) capacity_of(*core_).release();
  if (!std::exchange(is_announced_, false)) return;
  hazard_guard const here(*core_); // before the end: the pool may close, and go, from then on
  own_hazards.end_arrival();
  // Pairs with request_shutdown() and close_pool(): the pool sees the end of the arrival, or is told here.
  if (!life_of(*core_).has_begun_to_end()) return;
  quiescence_of(*core_).notify_all(); // of a shutdown that waits for this arrival
  quiescence_of(*core_).notify_if_quiet();
}

} // namespace rubato::detail
