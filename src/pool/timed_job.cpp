#include "rubato/detail/pool/timed_job.hpp"
#include "rubato/detail/work/future_state.hpp"
#include "rubato/timer_handle.hpp"
#include "sched/core/life_state.hpp"
#include "sched/core/quiescence.hpp"
#include "work/hazard_guard.hpp"

namespace rubato::detail {

void timed_task::begin(std::chrono::steady_clock::time_point t) noexcept {
  quiescence_of(core_).armed();
  due = t;
  arm(*this);
  // The pool's end looks through the wheels after it has begun: it finds the timer there, or its look comes
  // before, under the same lock, and this thread sees that the pool ends.
  if (life_of(core_).is_ending() && disarm(*this)) call_off();
}

void timed_task::fire() noexcept {
  pool_core& core = core_;
  hazard_guard const here(core); // alive as long as it counts this timer
  quiescence_of(core).fired();
  queue_task(core, future_state::any_seat, priority::normal, *this,
             made_ready_by::event); // it may run, and end
  quiescence_of(core).disarmed();
}

bool timed_task::may_run(thread_context const* runner) noexcept {
  return runner != nullptr && !life_of(*runner->core).is_discarding();
}

void timed_task::finish() noexcept {
  drop();
  release();
}

void timed_task::end(pool_core& core) noexcept {
  {
    hazard_guard const here(core); // alive as long as it counts this timer
    quiescence_of(core).disarmed();
  }
  drop(); // outside: it destroys the callable, which is user code
}

void timed_task::call_off() noexcept {
  end(core_);
  release();
}

bool timed_task::cancel() noexcept {
  pool_core& core = core_; // before the lock: its cache line comes at the same time as the timer's
  bool const mine = disarm(*this);
  if (mine) end(core);
  release(mine ? 2 : 1); // the timer's too
  return mine;
}

} // namespace rubato::detail

namespace rubato {

bool timer_handle::cancel() noexcept {
  detail::timed_task* const t = task_.take();
  return t != nullptr && t->cancel();
}

} // namespace rubato
