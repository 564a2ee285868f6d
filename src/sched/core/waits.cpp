#include "sched/core/waits.hpp"

#include "sched/core/ready.hpp"
#include "timer/nudge_monitor.hpp"
#include "work/pool_thread.hpp"

#include <cstddef>

namespace rubato::detail {

bool waits::all_wait() const noexcept {
  // Both reads are seq_cst: see basic_monitor_sleep::nudge().
  std::size_t const active = idle_threads_of(core_).active();
  return active != 0 && waiting_.get() >= active;
}

bool waits::is_stuck() const noexcept {
  return size_of(core_) != 0 && all_wait() && outside_waits_.get() == 0; // this changes before waiting_
}

void waits::nudge_if_stuck() noexcept {
  if (is_stuck()) nudge_monitor(monitor_rest::light);
}

void waits::nudge_of_latent(bool on_blocked_seat) noexcept {
  if (!sleep_of_monitor.rests_after_poll()) return;
  if (on_blocked_seat) nudge_monitor(); // the caller's seat hides the job
  // If no seat is vacant, the thread that vacates one tells the monitor: after_vacating().
  if (!idle_threads_of(core_).has_vacant()) return;
  // A worker, not the monitor: a wake costs the same, and the worker takes the latent jobs. It tells the
  // monitor if it finds something while other workers sleep, or when it rests. Pairs with nudge_if_owed(): if
  // unpark_worker() sees a searcher and wakes none, that searcher reads owed_ after it has ended its search.
  owed_.set(true);
  unpark_worker(core_);
}

void waits::nudge_if_owed() noexcept {
  if (owed_.get() && owed_.exchange(false) && idle_threads_of(core_).has_vacant())
    nudge_monitor(monitor_rest::light);
}

bool hides_work(pool_core const& core, pool_thread const& t) noexcept {
  seat const* const s = t.sits_on();
  if (s == nullptr) return false;
  return !s->inbox.empty() || (t.blocks_on_seat.is_set() && (t.chain.has_latent() || any_child(core)));
}

} // namespace rubato::detail
