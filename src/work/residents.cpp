#include "work/residents.hpp"

#include "rubato/detail/future_state.hpp"

#include <mutex>

namespace rubato::detail {

void residents::add(resident& r) noexcept {
  stripe& s = stripe_of(r);
  std::lock_guard const guard(s.guard);
  r.next_ = s.first;
  r.previous_ = nullptr;
  if (s.first != nullptr) s.first->previous_ = &r;
  s.first = &r;
  r.listed_ = true;
}

void residents::remove(resident& r) noexcept {
  stripe& s = stripe_of(r);
  std::lock_guard const guard(s.guard);
  if (r.listed_) unlink(s, r);
}

void residents::unlink(stripe& s, resident& r) noexcept {
  (r.previous_ != nullptr ? r.previous_->next_ : s.first) = r.next_;
  if (r.next_ != nullptr) r.next_->previous_ = r.previous_;
  r.listed_ = false;
}

void residents::request_drain() noexcept {
  for (stripe& s : stripes_)
    for (;;) {
      // Not held while it is asked: what a request resumes may end, and wants this lock then.
      resident* next = nullptr;
      state_ref held; // the resident is a part of it
      {
        std::lock_guard const guard(s.guard);
        for (next = s.first; next != nullptr && next->work().stop.level() != stop_level::none;)
          next = next->next_;
        if (next == nullptr) break;
        next->work().hold();
        held = state_ref(&next->work());
      }
      held->stop.request_drain();
      next->on_drain();
    }
}

void residents::stop_parents() noexcept {
  for (stripe& s : stripes_)
    for (;;) {
      state_ref held;
      {
        std::lock_guard const guard(s.guard);
        resident* r = s.first;
        while (r != nullptr && (r->work().stop.stop_requested() || !r->waits_for_children())) r = r->next_;
        if (r == nullptr) break;
        r->work().hold();
        held = state_ref(&r->work());
      }
      held->stop.request_stop();
    }
}

bool residents::drop_stuck() noexcept {
  bool any = false;
  for (stripe& s : stripes_)
    for (;;) {
      resident* stuck = nullptr;
      {
        std::lock_guard const guard(s.guard);
        for (stuck = s.first; stuck != nullptr && !stuck->withdraw();) stuck = stuck->next_;
        if (stuck != nullptr) unlink(s, *stuck);
      }
      if (stuck == nullptr) break;
      stuck->work().drop(); // it is ours alone now
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
