#include "sched/core/owned_tasks.hpp"

#include "base/thread_number.hpp"
#include "rubato/detail/sched/future_state.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace rubato::detail {

void owned_tasks::add(owned_task& r) noexcept {
  r.stripe_ = static_cast<std::uint8_t>(thread_number() % stripes_.size());
  stripe& s = stripes_[r.stripe_];
  lock_guard const guard(s.guard);
  s.tasks.push_front(r);
  r.listed_ = true;
}

void owned_tasks::remove(owned_task& r) noexcept {
  stripe& s = stripes_[r.stripe_];
  lock_guard const guard(s.guard);
  if (r.is_listed()) unlink(s, r);
}

void owned_tasks::unlink(stripe& s, owned_task& r) noexcept {
  s.tasks.erase(r);
  r.listed_ = false;
}

/// Asks each task that lives here for that, until there are none. Not under the lock: a task that resumes may
/// end, and takes the lock then. In batches: otherwise each search would pass all tasks that were asked.
void owned_tasks::request(stop_level level) noexcept {
  // The request goes to the work's own stop scope: a scope around it may be left at this moment, and be gone.
  // Work that lives in another pool is about to leave this list.
  auto const wanted = [this, level](future_state const& work) {
    return work.stop.requested_here() < level && (level == stop_level::stopped || !work.stop.is_shielded()) &&
           &owned_tasks_of(*work.home()) == this;
  };
  for (stripe& s : stripes_)
    for (;;) {
      std::array<state_ref, 256> some;
      std::size_t n = 0;
      {
        lock_guard const guard(s.guard);
        for (owned_task* r = s.tasks.front(); r != nullptr && n != some.size(); r = s.tasks.after(*r)) {
          future_state& work = r->work();
          if (!wanted(work)) continue;
          work.hold();
          some[n++] = state_ref(&work);
        }
      }
      if (n == 0) break;
      for (std::size_t i = 0; i != n; ++i) {
        future_state& work = *some[i].get();
        if (level == stop_level::stopped)
          work.stop.request_stop();
        else
          work.stop.request_drain();
      }
    }
}

/// All that can be withdrawn before the first is dropped: a walk passes the tasks that it cannot withdraw
/// yet, however many, once for all that it withdraws, not once for each.
void owned_tasks::withdraw_stuck(intrusive_list<owned_task>& to) noexcept {
  for (stripe& s : stripes_) {
    lock_guard const guard(s.guard);
    s.tasks.for_each([&](owned_task& r)
                         RUBATO_NOT_ANALYSED { // under s.guard, which a lambda is not known to hold
                           if (!r.work().withdraw(r)) return;
                           unlink(s, r);
                           to.push_front(r);
                         });
  }
}

void owned_tasks::drop(intrusive_list<owned_task>& withdrawn) noexcept {
  while (owned_task* const r = withdrawn.pop_front()) {
    future_state& stuck = r->work();
    stuck.broken_off = true;
    stuck.drop();
  }
}

bool owned_tasks::empty() const noexcept {
  return std::all_of(stripes_.begin(), stripes_.end(), [](stripe const& s) {
    lock_guard const guard(s.guard);
    return s.tasks.empty();
  });
}

std::size_t owned_tasks::count() const noexcept {
  std::size_t n = 0;
  for (stripe const& s : stripes_) {
    lock_guard const guard(s.guard);
    s.tasks.for_each([&n](owned_task&) { ++n; });
  }
  return n;
}

} // namespace rubato::detail
