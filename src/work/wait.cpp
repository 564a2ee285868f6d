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
  me.core->not_blocked(thread_of(me));
  static_cast<void>(me.chain.look(&me));
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
  return me.core->block(t);
}

void come_back(member& me, void* s) noexcept { me.core->unblock(thread_of(me), static_cast<seat*>(s)); }

seat* pool_core::block(pool_thread& t) noexcept {
  if (!std::exchange(t.blocked, true)) blocked_.fetch_add(1, std::memory_order_seq_cst);
  t.chain.remind(); // at its first fork from here on it is not_blocked()
  seat* const s = vacate(t, leaving::to_wait);
  if (s != nullptr) {
    t.counts.bump(counted::vacated);
    s->counts.bump(counted::vacated);
    after_vacating(s);
  }
  if (t.chain.has_latent() || scope_core::any_child(t)) nudge_watch(watch_rest::dozing);
  return s;
}

void pool_core::unblock(pool_thread& t, seat* s) noexcept {
  not_blocked(t);
  come_back(t, s);
}

void pool_core::not_blocked(pool_thread& t) noexcept {
  if (!std::exchange(t.blocked, false)) return;
  blocked_.fetch_sub(1, std::memory_order_seq_cst);
  nudge_watch(watch_rest::dozing); // busy from now on, and perhaps somebody sleeps
}

void pool_core::come_back(pool_thread& t, seat* s) noexcept {
  // Who had no seat before does not get one now.
  if (s != nullptr && people.sit(t, s, true)) pin(t, *t.sits_on());
}

} // namespace rubato::detail
