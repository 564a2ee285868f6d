#include "sched/wait/await_quiescence.hpp"

#include "sched/core/pool_core.hpp"
#include "sched/core/ready.hpp"
#include "sched/run/search.hpp"
#include "sched/wait/park.hpp"

#include <cstdint>
#include <system_error>

namespace rubato::detail {

bool await_quiescence(pool_core& core, std::chrono::steady_clock::time_point deadline, bool or_closed) {
  if (is_member(core))
    throw std::system_error(
        std::make_error_code(std::errc::resource_deadlock_would_occur),
        "rubato: wait_idle() called from a task of the same pool, which is not idle before the "
        "task ends; wait for the tasks themselves instead, in a scope");
  auto const announced = core.quiescence.announce();
  auto const has_time = [&] {
    return deadline == std::chrono::steady_clock::time_point::max() ||
           std::chrono::steady_clock::now() < deadline;
  };
  if (core.quiescence.now()) return true;
  seats_left const left; // of other pools
  // What is queued in a closed pool stays there until resize(). A timer may still be armed: one of a call
  // that began when the pool was closed.
  auto const closed = [&] { return or_closed && core.life.is_closed(); };
  auto const is_over = [&] { return closed() && !core.quiescence.any_armed(); };
  auto const to_drive = [&] { return core.life.size() == 0 && !closed() && has_ready(core) && has_time(); };
  for (;;) {
    if (to_drive())
      on_pool(&core.handle(), [&](thread_context& me) {
        while (core.life.size() == 0 && !closed() && has_time() && run_one(core, thread_of(me))) {
        }
      });
    std::uint32_t const changes = core.quiescence.changes();
    if (is_over() || core.quiescence.now()) return true;
    if (!to_drive() && !core.quiescence.sleep(changes, deadline)) return core.quiescence.now();
  }
}

} // namespace rubato::detail
