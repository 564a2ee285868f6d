#include "work/waiting_routines.hpp"

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

/// Those for which move(r), under the lock of the stripe, says yes.
template<class Move>
void waiting_routines::take(intrusive_list<waiting_routine>& to, Move move) noexcept {
  for (stripe& s : stripes_) {
    lock_guard const guard(s.guard);
    s.routines.for_each([&](waiting_routine& r)
                            RUBATO_NOT_ANALYSED { // under s.guard, which a lambda is not known to hold
                              if (!move(r)) return;
                              s.routines.erase(r);
                              r.listed_ = false;
                              to.push_back(r);
                            });
  }
}

void waiting_routines::resume_timed() noexcept {
  intrusive_list<waiting_routine> woken; // ours alone
  take(woken, [](waiting_routine& r) { return r.interrupt(); });
  while (waiting_routine* const r = woken.pop_front()) r->go_on();
}

void waiting_routines::withdraw(intrusive_list<waiting_routine>& to) noexcept {
  take(to, [](waiting_routine& r) { return r.withdraw(); });
}

void waiting_routines::end_waits(intrusive_list<waiting_routine>& withdrawn) noexcept {
  while (waiting_routine* const r = withdrawn.pop_front()) r->end_wait();
}

} // namespace rubato::detail
