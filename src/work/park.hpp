// How a thread of a pool sleeps in a wait. docs/design/parking.md
#pragma once

#include "work/pool_core.hpp"
#include "work/watch.hpp"

#include <chrono>
#include <utility>

namespace rubato::detail {

/// As long as it lives, the calling thread leaves its seats to others, in all pools that it is a member of.
class seats_left {
  member& me_ = *current;
  seat* const seat_ = me_.core != nullptr ? me_.core->leave(thread_of(me_)) : nullptr;

public:
  seats_left() noexcept = default;
  seats_left(seats_left const&) = delete;
  seats_left& operator=(seats_left const&) = delete;
  ~seats_left() {
    if (me_.core != nullptr) me_.core->come_back(thread_of(me_), seat_);
  }
};

template<class Done>
void pool_core::park_until(pool_thread& t, char const* why, member const* whom, Done done,
                           std::chrono::steady_clock::time_point deadline) noexcept {
  if (done()) return;
  seat* const s = vacate(t, leaving::to_wait);
  if (s != nullptr) {
    t.counts.bump(counted::vacated);
    s->counts.bump(counted::vacated);
  }
  leave_outer_seats(t);
  // on_stall, which is called below, may wait as well.
  member const* const outer_whom = t.waits_for.exchange(whom, std::memory_order_relaxed);
  t.waits_since.store(os::now(), std::memory_order_relaxed);
  char const* const outer_why = t.waits_in.exchange(why, std::memory_order_relaxed);
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  after_vacating(s);
  while (!done()) {
    if (size() == 0) { // whoever waits does the work, and is no mere waiter meanwhile
      t.waits_in.store(nullptr, std::memory_order_relaxed);
      waiting_.fetch_sub(1, std::memory_order_seq_cst);
      drive_until(t, why, done, deadline);
      waiting_.fetch_add(1, std::memory_order_seq_cst);
      t.waits_in.store(why, std::memory_order_relaxed);
      tell_if_stuck();
      continue;
    }
    t.parker.park_until(deadline);
    // Woken but not run for a while, a thread still counts as waiting: that is no stall.
    if (report_stall_.exchange(false, std::memory_order_acq_rel) && !done()) report_stall();
  }
  waiting_.fetch_sub(1, std::memory_order_seq_cst);
  returns_.fetch_add(1, std::memory_order_relaxed);
  t.waits_for.store(outer_whom, std::memory_order_relaxed);
  t.waits_in.store(outer_why, std::memory_order_relaxed);
  come_back(t, s); // to the outer seats as well
}

/// A pool without workers has nobody else: the thread that waits runs what is ready, in order, and sleeps on
/// a seat of its own in between. Returns when done or when the pool has workers again.
template<class Done>
void pool_core::drive_until(pool_thread& t, char const* why, Done& done,
                            std::chrono::steady_clock::time_point deadline) noexcept {
  seat* left = nullptr;
  while (size() == 0 && !done()) {
    if (run_one(t)) continue;
    seat* const temporary = sit_temporarily(t);
    if (temporary == nullptr) continue;
    // Vacant, with this thread idle beside it: a push calls it as it calls any worker.
    vacate(t, leaving::to_drive);
    if (any_shared() || any_latent(&t)) call_worker(temporary, true);
    t.waits_in.store(why, std::memory_order_relaxed);
    waiting_.fetch_add(1, std::memory_order_seq_cst); // asleep it is a mere waiter
    tell_if_stuck();
    while (t.sits_on() == nullptr && !done() && size() == 0) t.parker.park_until(deadline);
    waiting_.fetch_sub(1, std::memory_order_seq_cst);
    t.waits_in.store(nullptr, std::memory_order_relaxed);
    people.stop_driving(t);
    people.close(temporary);
    left = vacate(t, leaving::to_wait);
  }
  // It may have been called, even to a seat of a pool that has workers by now, and not have done the work.
  after_vacating(left);
}

} // namespace rubato::detail
