#include "work/owned_tasks.hpp"

#include "base/thread_number.hpp"
#include "rubato/detail/work/future_state.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace rubato::detail {

void owned_tasks::add(owned_task& r) noexcept {
  r.stripe_ = static_cast<std::uint8_t>(thread_number() % stripes_.size());
  stripe& s = stripes_[r.stripe_];
  lock_guard const guard(s.guard);
  r.asked_ = stop_level::none;
  s.asked(r.asked_).push_front(r);
  r.listed_ = true;
}

void owned_tasks::remove(owned_task& r) noexcept {
  stripe& s = stripes_[r.stripe_];
  lock_guard const guard(s.guard);
  if (r.is_listed()) unlink(s, r);
}

void owned_tasks::unlink(stripe& s, owned_task& r) noexcept {
  s.asked(r.asked_).erase(r);
  r.listed_ = false;
}

/// The next task that has not had that request, and notes that it has it now. Null: there is none.
owned_task* owned_tasks::next_to_ask(stripe& s, stop_level level) noexcept {
  for (std::size_t before = 0; before != static_cast<std::size_t>(level); ++before)
    if (owned_task* const r = s.tasks[before].pop_front()) {
      r->asked_ = level;
      s.asked(level).push_back(*r);
      return r;
    }
  return nullptr;
}

/// Makes the request to each task whose home this pool is. Not under the lock: a task that resumes may end,
/// and takes the lock then.
void owned_tasks::request(stop_level level) noexcept {
  // The request goes to the work's own stop scope: a scope around it may be left at this moment, and be gone.
  // Work that lives in another pool is about to leave this list.
  auto const wanted = [this, level](future_state const& work) {
    return work.stop.requested_here() < level && (level == stop_level::stopped || !work.stop.is_shielded()) &&
           work.home() == core_;
  };
  for (stripe& s : stripes_)
    for (;;) {
      std::array<state_ref, 64> some;
      std::size_t n = 0;
      bool more = true;
      {
        lock_guard const guard(s.guard);
        while (n != some.size() && more) {
          owned_task* const r = next_to_ask(s, level);
          more = r != nullptr;
          if (!more || !wanted(r->work())) continue;
          r->work().hold();
          some[n++] = state_ref(&r->work());
        }
      }
      for (std::size_t i = 0; i != n; ++i) {
        future_state& work = *some[i].get();
        if (level == stop_level::stopped)
          work.stop.request_stop();
        else
          work.stop.request_drain();
      }
      if (!more) break;
    }
}

/// Withdraws all that it can, before the first is dropped. A walk for each task would pass all those again
/// that cannot be withdrawn yet.
void owned_tasks::withdraw_stuck(intrusive_list<owned_task>& to) noexcept {
  for (stripe& s : stripes_) {
    lock_guard const guard(s.guard);
    for (intrusive_list<owned_task>& tasks : s.tasks)
      tasks.for_each([&](owned_task& r)
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

void owned_tasks::for_each(function_ref<void(future_state&)> f) {
  for (stripe& s : stripes_) {
    lock_guard const guard(s.guard);
    for (intrusive_list<owned_task>& tasks : s.tasks) tasks.for_each([&f](owned_task& r) { f(r.work()); });
  }
}

bool owned_tasks::empty() const noexcept {
  return std::all_of(stripes_.begin(), stripes_.end(), [](stripe const& s) { return s.empty(); });
}

std::size_t owned_tasks::count() const noexcept {
  std::size_t n = 0;
  for (stripe const& s : stripes_) {
    lock_guard const guard(s.guard);
    for (intrusive_list<owned_task> const& tasks : s.tasks) tasks.for_each([&n](owned_task&) { ++n; });
  }
  return n;
}

} // namespace rubato::detail
