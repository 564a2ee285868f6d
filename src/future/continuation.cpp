// How continuations get into a pool and out of it. docs/design/futures.md
#include "rubato/detail/future/continuation.hpp"

#include "rubato/detail/work/pool_port.hpp"
#include "sched/core/pool_registry.hpp"
#include "sched/run/claim.hpp"
#include "work/hazard_guard.hpp"
#include "work/owned_tasks.hpp"
#include "work/pool_thread.hpp"

#include <cstddef>
#include <new>
#include <optional>
#include <utility>

namespace rubato::detail {

namespace {

/// Null: there are no threads for it, or no memory.
[[nodiscard]] pool_core* some_core_if_any() noexcept {
  try {
    return some_core();
  } catch (...) {
    return nullptr;
  }
}

} // namespace

void queue_continuation(future_state& c, future_state& source, bool just_made) noexcept {
  pool_core* const made_at = source.home();
  std::optional<hazard_guard> there;
  pool_core* home = current->core;
  if (home == nullptr || (!just_made && home != made_at)) {
    home = made_at;
    if (!guard_if_there(made_at, there)) {
      home = some_core_if_any();
      if (home != nullptr && home != current->core) there.emplace(*home);
    }
  }
  if (home == nullptr) { // a fire() and an attach() have no caller to throw to
    c.drop();
    return;
  }
  c.set_home(home);
  std::uint16_t const seat = c.seat.get();
  priority const p = c.queued.offer_first(); // from now on another thread may claim it
  queue_task(*home, seat, p, c);
}

void queue_pending(future_state& c, owned_task& r, pool_core& wanted, bool chosen) noexcept {
  c.hold();                        // it may run and end meanwhile
  state_ref const held(&c);        // let go after the guard: it may destroy objects of the user
  hazard_guard const here(wanted); // it is alive as long as `r` is listed there
  c.set_home(chosen || current->core == nullptr ? &wanted : current->core);
  offer(c);
  leave_owned_tasks(wanted, r);
}

void raise_before(future_state& c) noexcept {
  c.hold();
  for (state_ref s(&c); s;) {
    std::size_t first = 0;
    state_ref before(s->pending_input(first));
    if (!before) return;
    auto const raised = before->queued.raise(s->queued.level());
    if (raised == queue_state::raising::needless) return;
    if (raised == queue_state::raising::of_queued) queue_second_entry(*before.get());
    s = std::move(before);
  }
}

void join_owned_tasks(pool_core& core, owned_task& r) noexcept { owned_tasks_of(core).add(r); }

} // namespace rubato::detail
