#include "work/residents.hpp"

#include "rubato/detail/future_state.hpp"

#include <array>
#include <cstddef>
#include <mutex>

namespace rubato::detail {

void residents::add(resident& r) noexcept {
  stripe& s = stripe_of(r);
  std::lock_guard const guard(s.guard);
  r.next_ = s.first;
  r.previous_ = nullptr;
  if (s.first != nullptr) s.first->previous_ = &r;
  s.first = &r;
  r.listed_ = 1;
}

void residents::remove(resident& r) noexcept {
  stripe& s = stripe_of(r);
  std::lock_guard const guard(s.guard);
  if (r.is_listed()) unlink(s, r);
}

void residents::unlink(stripe& s, resident& r) noexcept {
  (r.previous_ != nullptr ? r.previous_->next_ : s.first) = r.next_;
  if (r.next_ != nullptr) r.next_->previous_ = r.previous_;
  r.listed_ = 0;
}

/// Does f(resident) for those that are wanted, until there are none. Not under the lock: what f resumes may
/// end, and wants it then. Many at a time, or each would be searched for behind all that f was done for.
template<class Wanted, class F>
void residents::for_each(Wanted wanted, F f) noexcept {
  struct held_one {
    resident* who = nullptr; // a part of the work
    state_ref work;
  };
  for (stripe& s : stripes_)
    for (;;) {
      std::array<held_one, 256> some;
      std::size_t n = 0;
      {
        std::lock_guard const guard(s.guard);
        for (resident* r = s.first; r != nullptr && n != some.size(); r = r->next_) {
          if (!wanted(*r)) continue;
          r->work().hold();
          some[n++] = {r, state_ref(&r->work())};
        }
      }
      if (n == 0) break;
      for (std::size_t i = 0; i != n; ++i) f(*some[i].who);
    }
}

// What is asked is the work's own scope: those around it may be left at this moment, and gone.

void residents::request_drain() noexcept {
  for_each([](resident& r) { return r.work().stop.requested_here() == stop_level::none; },
           [](resident& r) {
             r.work().stop.request_drain();
             r.work().on_drain();
           });
}

void residents::stop_parents() noexcept {
  for_each(
      [](resident& r) {
        return r.work().stop.requested_here() != stop_level::stopped && r.work().waits_for_children();
      },
      [](resident& r) { r.work().stop.request_stop(); });
}

bool residents::drop_stuck() noexcept {
  bool any = false;
  for (stripe& s : stripes_)
    for (;;) {
      resident* stuck = nullptr;
      {
        std::lock_guard const guard(s.guard);
        for (stuck = s.first; stuck != nullptr && !stuck->work().withdraw();) stuck = stuck->next_;
        if (stuck != nullptr) unlink(s, *stuck);
      }
      if (stuck == nullptr) break;
      stuck->work().broken_off = true; // it is ours alone now
      stuck->work().drop();
      any = true;
    }
  return any;
}

std::size_t residents::count() const noexcept {
  std::size_t n = 0;
  for (stripe const& s : stripes_) {
    std::lock_guard const guard(s.guard);
    for (resident const* r = s.first; r != nullptr; r = r->next_) ++n;
  }
  return n;
}

} // namespace rubato::detail
