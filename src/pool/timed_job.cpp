#include "rubato/detail/pool/timed_job.hpp"
#include "rubato/timer_handle.hpp"
#include "sched/core/lifecycle.hpp"
#include "sched/core/owned_tasks.hpp"
#include "sched/core/quiescence.hpp"
#include "sched/worker/hazard_guard.hpp"

#include <utility>

namespace rubato::detail {

void timed_start::begin(std::chrono::steady_clock::time_point t) noexcept {
  pool_core& core = *self_.home();
  owned_tasks_of(core).add(*this);
  quiescence_of(core).armed();
  counted_ = true;
  due = t;
  self_.hold(); // it may be due, run and end at once
  state_ref const mine(&self_);
  arm(*this);
  if (life_of(core).is_ending()) call_off();
}

void timed_start::fire() noexcept {
  pool_core& core = *self_.home();
  hazard_guard const here(core); // alive as long as it counts this timer
  quiescence_of(core).fired();
  counted_ = false;
  future_state& state = self_;
  state.hold(); // it may run and end meanwhile
  state_ref const mine(&state);
  offer(state, made_ready_by::event);
  owned_tasks_of(core).remove(*this);
  quiescence_of(core).disarmed();
}

bool timed_start::take_back() noexcept { return disarm(*this); }

bool timed_start::call_off() noexcept {
  pool_core& core = *self_.home();
  if (!disarm(*this)) return false;
  {
    hazard_guard const here(core); // alive as long as this timer is listed there
    owned_tasks_of(core).remove(*this);
    not_counted();
  }
  self_.drop(); // outside: it destroys the callable, which is user code
  return true;
}

void timed_start::not_counted() noexcept {
  if (std::exchange(counted_, false)) quiescence_of(*self_.home()).disarmed();
}

} // namespace rubato::detail

namespace rubato {

bool timer_handle::cancel() noexcept {
  if (!work_) return false;
  detail::state_ref const mine = std::move(work_);
  return mine->call_off();
}

} // namespace rubato
