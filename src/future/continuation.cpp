// How continuations get into a pool and out of it. docs/design/futures.md
#include "rubato/detail/future/continuation.hpp"

#include "rubato/detail/sched/pool_access.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/monitor/monitor.hpp"
#include "sched/worker/hazard_guard.hpp"

#include <optional>

namespace rubato::detail {

void queue_continuation(future_state& c, future_state& source, bool just_made) noexcept {
  pool_core* const made_at = source.home();
  std::optional<hazard_guard> there;
  pool_core* home = current->core;
  if (home == nullptr || (!just_made && home != made_at)) {
    home = made_at;
    if (!guard_if_there(made_at, there)) {
      home = some_core();
      if (home != current->core) there.emplace(*home);
    }
  }
  c.settle(home);
  std::uint16_t const seat = c.seat;
  priority const p = c.queued.offer_first(); // from now on another thread may claim it
  queue_task(*home, seat, p, c);
}

void queue_pending(future_state& c, owned_task& r, pool_core& wanted, bool chosen) noexcept {
  c.hold();                        // it may run and end meanwhile
  state_ref const held(&c);        // let go after the guard: it may destroy objects of the user
  hazard_guard const here(wanted); // it is alive as long as `r` is listed there
  c.settle(chosen || current->core == nullptr ? &wanted : current->core);
  offer(c);
  wanted.owned_task_left(r);
}

void join_owned_tasks(pool_core& core, owned_task& r) noexcept { core.owned.add(r); }

} // namespace rubato::detail
