#include "sched/core/owned_tasks.hpp"

#include "rubato/detail/sched/future_state.hpp"
#include "sched/core/pool_core.hpp"

#include <array>
#include <cstddef>
#include <mutex>
#include <utility>

namespace rubato::detail {

void owned_tasks::add(owned_task& r) noexcept {
  stripe& s = stripe_of(r);
  std::lock_guard const guard(s.guard);
  s.tasks.push_front(r);
  r.listed_ = 1;
}

void owned_tasks::remove(owned_task& r) noexcept {
  stripe& s = stripe_of(r);
  std::lock_guard const guard(s.guard);
  if (r.is_listed()) unlink(s, r);
}

void owned_tasks::unlink(stripe& s, owned_task& r) noexcept {
  s.tasks.erase(r);
  r.listed_ = 0;
}

/// Calls f(work) for each wanted task, until there are none. Not under the lock: a task that f resumes may
/// end, and takes the lock then. In batches: otherwise each search would pass all tasks that f has handled.
template<class Wanted, class F>
void owned_tasks::for_each(Wanted wanted, F f) noexcept {
  for (stripe& s : stripes_)
    for (;;) {
      std::array<state_ref, 256> some;
      std::size_t n = 0;
      {
        std::lock_guard const guard(s.guard);
        for (owned_task* r = s.tasks.front(); r != nullptr && n != some.size(); r = s.tasks.after(*r)) {
          future_state& work = r->work();
          if (!wanted(work, *r)) continue;
          work.hold();
          some[n++] = state_ref(&work);
        }
      }
      if (n == 0) break;
      for (std::size_t i = 0; i != n; ++i) f(*some[i].get());
    }
}

// The requests go to the work's own stop scope: a scope around it may be left at this moment, and be gone.

/// Work that lives in another pool is about to leave this list.
bool owned_tasks::lives_here(future_state const& work) const noexcept { return &work.home()->owned == this; }

void owned_tasks::request_drain() noexcept {
  for_each(
      [this](future_state const& work, owned_task const& /*as*/) {
        return work.stop.requested_here() == stop_level::none && !work.stop.is_shielded() && lives_here(work);
      },
      [](future_state& work) {
        work.stop.request_drain();
        work.call_off();
      });
}

void owned_tasks::request_stop() noexcept {
  for_each(
      [this](future_state const& work, owned_task const& /*as*/) {
        return work.stop.requested_here() != stop_level::stopped && lives_here(work);
      },
      [](future_state& work) {
        work.stop.request_stop();
        work.call_off();
      });
}

/// A dropped task may release one that could not be withdrawn before, so the walks go on until one finds
/// nothing. A walk withdraws all that it can before it drops the first: it passes the tasks that it cannot
/// withdraw yet, however many, once for all that it drops, not once for each.
bool owned_tasks::drop_stuck() noexcept {
  bool any = false;
  for (bool more = true; more;) {
    more = false;
    for (stripe& s : stripes_) {
      intrusive_list<owned_task> withdrawn; // ours alone
      {
        std::lock_guard const guard(s.guard);
        s.tasks.for_each([&](owned_task& r) {
          if (!r.work().withdraw(r)) return;
          unlink(s, r);
          withdrawn.push_front(r);
        });
      }
      while (owned_task* const r = withdrawn.pop_front()) {
        future_state& stuck = r->work();
        stuck.broken_off = true;
        stuck.drop();
        any = more = true;
      }
    }
  }
  return any;
}

std::size_t owned_tasks::count() const noexcept {
  std::size_t n = 0;
  for (stripe const& s : stripes_) {
    std::lock_guard const guard(s.guard);
    s.tasks.for_each([&n](owned_task&) { ++n; });
  }
  return n;
}

} // namespace rubato::detail
