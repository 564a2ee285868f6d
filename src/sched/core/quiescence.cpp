#include "sched/core/quiescence.hpp"

#include "rubato/detail/base/deadline.hpp"
#include "rubato/detail/sched/pool_access.hpp"
#include "sched/life/lifecycle.hpp"
#include "sched/run/search.hpp"
#include "sched/wait/park.hpp"
#include "work/task_queues.hpp"

#include <system_error>

namespace rubato::detail {

bool quiescence::now() const noexcept {
  auto const begun = [this] { // by the threads that searched
    std::uint64_t n = 0;
    for (unsigned i = 0, seats = queues_.seats(); i != seats; ++i)
      n += queues_.seat_at(i).counts[counted::began];
    return n;
  };
  return state_.holds(
      begun, [this] { return !idle_threads_.no_thread_runs(); },
      [this] { return queues_.any_queued() || any_latent(core_); });
}

bool quiescence::sleep(std::uint32_t changes, std::chrono::steady_clock::time_point deadline) noexcept {
  if (deadline != std::chrono::steady_clock::time_point::max())
    return state_.sleep_until(changes, rubato::detail::deadline(deadline));
  state_.sleep(changes);
  return true;
}

void quiescence::tell_waiters() noexcept {
  if (!idle_threads_.no_thread_runs()) return;
  // Both pair with request_shutdown() and `announcement`: the thread that writes ending_ or announces itself
  // looks at the pool afterwards.
  bool const ends = life_.has_begun_to_end();
  if (ends || is_awaited()) wake_all();
  if (ends) life_.end_if_quiet();
}

void quiescence::disarmed() noexcept {
  state_.disarm(thread_number());
  // Mostly no thread waits, and the counts of other threads need not be read.
  if ((is_awaited() || life_.has_begun_to_end()) && !any_armed()) tell_waiters();
}

bool quiescence::wait(std::chrono::steady_clock::time_point deadline, bool or_closed) {
  if (is_member(core_))
    throw std::system_error(
        std::make_error_code(std::errc::resource_deadlock_would_occur),
        "rubato: wait_idle() called from a task of the same pool, which is not idle before the "
        "task ends; wait for the tasks themselves instead, in a scope");
  quiet::announcement const announced(state_);
  auto const has_time = [&] {
    return deadline == std::chrono::steady_clock::time_point::max() ||
           std::chrono::steady_clock::now() < deadline;
  };
  if (now()) return true;
  seats_left const left; // of other pools
  // What is queued in a closed pool is for its next life. A timer may be firing there: that of a call that
  // began when the pool was closed.
  auto const closed = [&] { return or_closed && life_.is_closed(); };
  auto const is_over = [&] { return closed() && !any_armed(); };
  auto const to_drive = [&] { return life_.size() == 0 && !closed() && has_ready(core_) && has_time(); };
  for (;;) {
    if (to_drive())
      on_pool(&handle_of(core_), [&](thread_context& me) {
        while (life_.size() == 0 && !closed() && has_time() && run_one(core_, thread_of(me))) {
        }
      });
    std::uint32_t const changes = state_.changes();
    if (is_over() || now()) return true;
    if (!to_drive() && !sleep(changes, deadline)) return now();
  }
}

void count_armed(pool_core& c) noexcept { quiescence_of(c).armed(); }
void count_disarmed(pool_core& c) noexcept { quiescence_of(c).disarmed(); }
void count_fired(pool_core& c) noexcept { quiescence_of(c).fired(); }

} // namespace rubato::detail
