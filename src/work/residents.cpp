#include "work/residents.hpp"

#include "rubato/detail/future_state.hpp"
#include "work/pool_core.hpp"

#include <array>
#include <cstddef>
#include <mutex>
#include <utility>

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

/// Does f(work) for those that are wanted, until there are none. Not under the lock: what f resumes may
/// end, and wants it then. Many at a time, or each would be searched for behind all that f was done for.
template<class Wanted, class F>
void residents::for_each(Wanted wanted, F f) noexcept {
  for (stripe& s : stripes_)
    for (;;) {
      std::array<state_ref, 256> some;
      std::size_t n = 0;
      {
        std::lock_guard const guard(s.guard);
        for (resident* r = s.first; r != nullptr && n != some.size(); r = r->next_) {
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

// What is asked is the work's own scope: those around it may be left at this moment, and gone.

/// Work that lives in another pool is about to leave this list.
bool residents::lives_here(future_state const& work) const noexcept { return &work.home()->residing == this; }

void residents::request_drain() noexcept {
  for_each(
      [this](future_state const& work, resident const& /*as*/) {
        return work.stop.requested_here() == stop_level::none && !work.stop.is_shielded() && lives_here(work);
      },
      [](future_state& work) {
        work.stop.request_drain();
        work.on_drain();
      });
}

void residents::request_stop() noexcept {
  for_each(
      [this](future_state const& work, resident const& /*as*/) {
        return work.stop.requested_here() != stop_level::stopped && lives_here(work);
      },
      [](future_state& work) {
        work.stop.request_stop();
        work.on_drain();
      });
}

/// What is dropped may let go of what could not be withdrawn before, so it looks again until a walk finds
/// nothing. A walk withdraws all that it can before it drops the first: those that cannot be withdrawn yet,
/// as many as there may be, are passed once for all of these, not once for each.
bool residents::drop_stuck() noexcept {
  bool any = false;
  for (bool more = true; more;) {
    more = false;
    for (stripe& s : stripes_) {
      resident* withdrawn = nullptr; // ours alone, and so are their links
      {
        std::lock_guard const guard(s.guard);
        for (resident* r = s.first; r != nullptr;) {
          resident* const next = r->next_;
          if (r->work().withdraw(*r)) {
            unlink(s, *r);
            r->next_ = std::exchange(withdrawn, r);
          }
          r = next;
        }
      }
      while (withdrawn != nullptr) {
        future_state& stuck = std::exchange(withdrawn, withdrawn->next_)->work();
        stuck.broken_off = true;
        stuck.drop();
        any = more = true;
      }
    }
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
