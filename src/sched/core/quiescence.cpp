#include "sched/core/quiescence.hpp"

#include "rubato/detail/base/deadline.hpp"
#include "rubato/detail/trace/note.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "sched/core/life_state.hpp"
#include "sched/core/ready.hpp"
#include "work/task_queues.hpp"

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

void quiescence::notify_if_quiet() noexcept {
  if (!idle_threads_.no_thread_runs()) return;
  // Both pair with request_shutdown() and `announcement`: the thread that writes ending_ or announces itself
  // looks at the pool afterwards.
  bool const ends = life_.has_begun_to_end();
  if (ends || is_awaited()) notify_all();
  if (ends) end_if_quiet(core_);
}

void quiescence::disarmed() noexcept {
  state_.disarm(thread_number());
  // Mostly no thread waits, and the counts of other threads need not be read.
  if ((is_awaited() || life_.has_begun_to_end()) && !any_armed()) notify_if_quiet();
}

void count_armed(pool_core& c) noexcept { quiescence_of(c).armed(); }
void count_disarmed(pool_core& c) noexcept { quiescence_of(c).disarmed(); }
void count_fired(pool_core& c) noexcept {
  note<event_kind::timer>(&c);
  quiescence_of(c).fired();
}

} // namespace rubato::detail
