#include "sched/core/life_state.hpp"

#include "sched/core/outside_waiters.hpp"
#include "work/pool_thread.hpp"

namespace rubato::detail {

life_state::life_state() {
  workerless_pools.add(1); // until lifecycle::start()
}

life_state::~life_state() {
  if (size() == 0) workerless_pools.subtract(1);
}

std::stop_token life_state::stop_token() const noexcept {
  lock_guard const guard(stop_mutex_);
  return stop_.get_token();
}

bool life_state::stays_closed() noexcept {
  if (entrance_.get() == entrance::open) return false;
  // Not mutex_: end_if_quiet() does not close the pool while another thread holds that mutex.
  lock_guard const decided(deciding_);
  return is_closed();
}

bool discarded(thread_context const& runner) noexcept {
  for (thread_context const* m = &runner; m->core != nullptr; m = static_cast<pool_thread const*>(m)->outer)
    if (life_of(*m->core).is_discarding()) return true;
  return false;
}

} // namespace rubato::detail
