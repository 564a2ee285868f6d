// How a thread of a pool sleeps in a wait. docs/design/parking.md
#pragma once

#include "work/pool_core.hpp"
#include "work/watch.hpp"

#include <utility>

namespace rubato::detail {

template<class Done>
void pool_core::park_until(pool_thread& t, char const* why, member const* whom, Done done) noexcept {
  while (size() == 0 && !done()) drive_until(t, done);
  if (done()) return;
  seat* const s = vacate(t, false);
  if (s != nullptr) {
    t.counts.bump(counted::vacated);
    s->counts.bump(counted::vacated);
  }
  t.waits_for.store(whom, std::memory_order_relaxed);
  t.waits_in.store(why, std::memory_order_relaxed);
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  after_vacating(s);
  nudge_watch(watch_rest::dozing); // it looks whether anybody is left to end this wait
  while (!done()) {
    t.parker.park();
    // Woken but not run for a while, a thread still counts as waiting: that is no stall.
    if (report_stall_.exchange(false, std::memory_order_acq_rel) && !done()) report_stall();
    if (size() != 0 || done()) continue;
    // The last worker is gone: whoever waits does the work, and is no mere waiter meanwhile.
    waiting_.fetch_sub(1, std::memory_order_seq_cst);
    drive_until(t, done);
    waiting_.fetch_add(1, std::memory_order_seq_cst);
  }
  waiting_.fetch_sub(1, std::memory_order_seq_cst);
  returns_.fetch_add(1, std::memory_order_relaxed);
  t.waits_in.store(nullptr, std::memory_order_relaxed);
  come_back(t, s);
}

/// A pool without workers has nobody else: the thread that waits runs what is ready, in order, and sleeps on
/// a seat of its own in between. Returns when done or when the pool has workers again.
template<class Done>
void pool_core::drive_until(pool_thread& t, Done& done) noexcept {
  while (size() == 0 && !done()) {
    if (task* k = any_task()) {
      run(t, *k);
      continue;
    }
    if (finding const f = find_latent(t)) {
      run(t, f);
      continue;
    }
    seat* const temporary = sit_temporarily(t);
    if (temporary == nullptr) continue;
    // Vacant, with this thread idle beside it: a push calls it as it calls any worker.
    vacate(t, true);
    if (any_queued() || any_latent()) call_worker(temporary, true);
    while (t.sits_on() == nullptr && !done() && size() == 0) t.parker.park();
    people.strike(t);
    if (t.sits_on() != nullptr) { // called: as active and searching, which it is already or no more
      static_cast<void>(people.end_search());
      active_.fetch_sub(1, std::memory_order_seq_cst);
    }
    people.close(temporary);
    vacate(t, false);
  }
}

} // namespace rubato::detail
