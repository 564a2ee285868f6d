#include "os/scheduling.hpp"

#include <algorithm>
#include <pthread.h>
#include <sys/resource.h>

namespace rubato::os {

scheduling::scheduling() noexcept
    : policy_(::sched_getscheduler(0))
    , nice_(::getpriority(PRIO_PROCESS, 0)) {
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked_);
  ::sched_getparam(0, &priority_);
  if ((policy_ & SCHED_RESET_ON_FORK) == 0) return;
  // Such a thread passes no privilege on: sched(7).
  policy_ &= ~SCHED_RESET_ON_FORK;
  if (policy_ == SCHED_FIFO || policy_ == SCHED_RR)
    policy_ = SCHED_OTHER, priority_ = {}, nice_ = 0;
  else
    nice_ = std::max(nice_, 0);
}

void scheduling::apply() const noexcept {
  static_cast<void>(::sched_setscheduler(0, policy_, &priority_));
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, nice_)); // 0: this thread, not the process
  ::pthread_sigmask(SIG_SETMASK, &blocked_, nullptr);       // last: a handler may run from now on
}

void schedule_ordinarily() noexcept {
  sched_param const none{};
  static_cast<void>(::sched_setscheduler(0, SCHED_OTHER, &none));
}

} // namespace rubato::os
