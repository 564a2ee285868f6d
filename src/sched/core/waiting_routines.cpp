#include "sched/core/waiting_routines.hpp"

#include <algorithm>

namespace rubato::detail {

void waiting_routines::add(waiting_routine& r) noexcept {
  stripe& s = stripe_of(&r);
  lock_guard const guard(s.guard);
  // Pairs with lifecycle::close_pool(): the caller asks afterwards whether the pool is closed.
  s.count.add(1);
  s.routines.push_back(r);
  r.listed_ = true;
}

void waiting_routines::remove(waiting_routine& r) noexcept {
  stripe& s = stripe_of(&r);
  lock_guard const guard(s.guard);
  if (!r.listed_) return;
  s.routines.erase(r);
  r.listed_ = false;
}

bool waiting_routines::any() const noexcept {
  return std::any_of(stripes_.begin(), stripes_.end(), [](stripe const& s) {
    return s.count.get() != 0; // pairs with add()
  });
}

/// move(r) under the lock, and then(r) without it, if the first said yes.
template<class Move, class Then>
bool waiting_routines::for_each(Move move, Then then) noexcept {
  bool found = false;
  for (stripe& s : stripes_) {
    intrusive_list<waiting_routine> moved; // ours alone
    {
      lock_guard const guard(s.guard);
      s.routines.for_each([&](waiting_routine& r)
                              RUBATO_NOT_ANALYSED { // under s.guard, which a lambda is not known to hold
                                if (!move(r)) return;
                                s.routines.erase(r);
                                r.listed_ = false;
                                moved.push_back(r);
                              });
    }
    while (waiting_routine* const r = moved.pop_front()) {
      then(*r);
      found = true;
    }
  }
  return found;
}

void waiting_routines::wake_timed() noexcept {
  for_each([](waiting_routine& r) { return r.interrupt(); }, [](waiting_routine& r) { r.go_on(); });
}

bool waiting_routines::drop() noexcept {
  return for_each([](waiting_routine& r) { return r.withdraw(); }, [](waiting_routine& r) { r.let_go(); });
}

} // namespace rubato::detail
