#include "rubato/detail/timed_job.hpp"
#include "rubato/timer_handle.hpp"
#include "work/pool_core.hpp"
#include "work/visit.hpp"

#include <utility>

namespace rubato::detail {

void timed_start::begin(std::chrono::steady_clock::time_point t) {
  pool_core& core = *self_.home();
  core.residing.add(*this);
  core.armed();
  counted_ = true;
  due = t;
  self_.hold(); // it may be due, run and end at once
  state_ref const mine(&self_);
  try {
    arm(*this);
  } catch (...) {
    core.residing.remove(*this);
    not_counted();
    throw;
  }
  if (core.is_ending()) call_off();
}

void timed_start::due_now(timer& t) noexcept {
  auto& start = static_cast<timed_start&>(t);
  pool_core& core = *start.self_.home();
  visit const here(core); // alive as long as it counts us
  core.fired();
  start.counted_ = false;
  start.self_.hold(); // it may run and end meanwhile
  state_ref const mine(&start.self_);
  offer(start.self_);
  core.residing.remove(start);
  core.disarmed();
}

bool timed_start::take_back() noexcept { return disarm(*this); }

bool timed_start::call_off() noexcept {
  pool_core& core = *self_.home();
  if (!disarm(*this)) return false;
  {
    visit const here(core); // alive as long as we are listed there
    core.residing.remove(*this);
    not_counted();
  }
  self_.drop(); // outside: what the callable owns is destroyed, which is user code
  return true;
}

void timed_start::not_counted() noexcept {
  if (std::exchange(counted_, false)) self_.home()->disarmed();
}

} // namespace rubato::detail

namespace rubato {

bool timer_handle::cancel() noexcept {
  if (!work_) return false;
  detail::state_ref const mine = std::move(work_);
  return static_cast<detail::timed_state&>(*mine.get()).timer.call_off();
}

} // namespace rubato
