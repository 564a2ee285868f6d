// How a thread waits for a job that somebody else runs, and what a wait does to its seat.
#include "rubato/detail/scope_core.hpp"
#include "work/park.hpp"
#include "work/pool_core.hpp"
#include "work/watch.hpp"

#include <utility>

namespace rubato::detail {

void wait_for(member& me, departure& d) noexcept { me.core->wait_for(thread_of(me), d); }

void announce(departure& d) noexcept {
  // Read before: the frame may be gone right after finish().
  auto& owner = thread_of(*d.owner);
  if (d.finish()) owner.parker.unpark();
}

void answer(member& me) noexcept {
  static_cast<void>(me.chain.look(&me));
  me.core->tell_of_latent();
}

void pool_core::wait_for(pool_thread& t, departure& d) noexcept {
  os::ticks spin_until = os::now() + search_ticks_;
  while (!d.done()) {
    // Leapfrogging: what the runner forks from here on descends from what we wait for.
    auto& runner = thread_of(*d.runner);
    if (loot const l = obtain(t, runner, {.descends_from = &d})) {
      run(t, l);
      spin_until = os::now() + search_ticks_;
    } else if (os::now() < spin_until) {
      for (unsigned i = 0; i != 16; ++i) std_policy::pause();
    } else if (d.await()) {
      park_until(t, "join", d.runner, [&d] { return d.done(); });
    }
  }
}

void* leave_seat(member& me) noexcept {
  pool_thread& t = thread_of(me);
  return me.core->leave(t);
}

void come_back(member& me, void* s) noexcept { me.core->come_back(thread_of(me), static_cast<seat*>(s)); }

seat* pool_core::leave_own(pool_thread& t) noexcept {
  seat* const s = vacate(t, leaving::to_wait);
  if (s != nullptr) {
    t.counts.bump(counted::vacated);
    s->counts.bump(counted::vacated);
    after_vacating(s);
  }
  return s;
}

void pool_core::come_back_to_own(pool_thread& t, seat* s) noexcept {
  // A thread that had no seat before does not get one now.
  if (s != nullptr && people.sit(t, s, true)) pin(t, *t.sits_on());
}

/// The thread may hold a seat in each pool in which it runs something below. `waits_elsewhere`: a wait may be
/// begun within another, by on_stall or by what a thread runs that drives a pool.
void pool_core::leave_outer_seats(pool_thread& t) noexcept {
  for (member* m = t.outer; m->core != nullptr; m = thread_of(*m).outer) {
    pool_thread& outer = thread_of(*m);
    if (outer.waits_elsewhere++ == 0) outer.left = m->core->leave_own(outer);
  }
}

void pool_core::come_back_to_outer_seats(pool_thread& t) noexcept {
  for (member* m = t.outer; m->core != nullptr; m = thread_of(*m).outer) {
    pool_thread& outer = thread_of(*m);
    if (--outer.waits_elsewhere == 0) m->core->come_back_to_own(outer, std::exchange(outer.left, nullptr));
  }
}

seat* pool_core::leave(pool_thread& t) noexcept {
  seat* const s = leave_own(t);
  leave_outer_seats(t);
  return s;
}

void pool_core::come_back(pool_thread& t, seat* s) noexcept {
  come_back_to_own(t, s);
  come_back_to_outer_seats(t);
}

} // namespace rubato::detail
