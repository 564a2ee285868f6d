#include "rubato/detail/pool/timed_job.hpp"
#include "rubato/timer_handle.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/worker/hazard_guard.hpp"

#include <utility>

namespace rubato::detail {

void timed_start::begin(std::chrono::steady_clock::time_point t) noexcept {
  pool_core& core = *self_.home();
  core.owned.add(*this);
  core.quiescence.armed();
  counted_ = true;
  due = t;
  self_.hold(); // it may be due, run and end at once
  state_ref const mine(&self_);
  arm(*this);
  if (core.life.is_ending()) call_off();
}

void timed_start::fire() noexcept {
  pool_core& core = *self_.home();
  hazard_guard const here(core); // alive as long as it counts this timer
  core.quiescence.fired();
  counted_ = false;
  future_state& state = self_;
  state.hold(); // it may run and end meanwhile
  state_ref const mine(&state);
  offer(state, made_ready_by::event);
  core.owned.remove(*this);
  core.quiescence.disarmed();
}

bool timed_start::take_back() noexcept { return disarm(*this); }

bool timed_start::call_off() noexcept {
  pool_core& core = *self_.home();
  if (!disarm(*this)) return false;
  {
    hazard_guard const here(core); // alive as long as this timer is listed there
    core.owned.remove(*this);
    not_counted();
  }
  self_.drop(); // outside: it destroys the callable, which is user code
  return true;
}

void timed_start::not_counted() noexcept {
  if (std::exchange(counted_, false)) self_.home()->quiescence.disarmed();
}

} // namespace rubato::detail

namespace rubato {

bool timer_handle::cancel() noexcept {
  if (!work_) return false;
  detail::state_ref const mine = std::move(work_);
  return mine->call_off();
}

} // namespace rubato
