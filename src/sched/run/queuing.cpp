#include "rubato/detail/sched/run/queuing.hpp"

#include "sched/core/pool_core.hpp"
#include "sched/core/pool_registry.hpp"
#include "sched/run/claim.hpp"
#include "work/hazard_guard.hpp"

#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

namespace rubato::detail {

// NOLINTBEGIN(clang-analyzer-core.*): work that is offered has a home
void offer(future_state& s, made_ready_by cause) noexcept {
  bool const was_claimed = s.queued.is_queued(); // its old entry is still there, or was at this moment
  if (was_claimed) s.hold();
  state_ref const held(was_claimed ? &s
                                   : nullptr); // released after the guard: may destroy objects of the user
  // From the offer on another thread may claim the work. The work may then move or end, and its pool end.
  pool_core& core = *s.home();
  std::uint16_t const seat = s.seat.get();
  outside_guard const here(core);
  auto const offered = s.queued.offer();
  if (offered.to_queue)
    queue_task(core, seat, offered.level, s, cause);
  else if (offered.is_behind || cause == made_ready_by::event)
    queue_second_entry(s, cause);
  else
    notify(core); // every thread may wait, and have seen only claimed work in the queue
}
// NOLINTEND(clang-analyzer-core.*)

void queue_near(task& t, pool_core* made_at) noexcept {
  if (current->core != nullptr) {
    queue(*current->core, &t);
    return;
  }
  std::optional<hazard_guard> there;
  if (guard_if_there(made_at, there)) {
    queue(*made_at, &t);
    return;
  }
  try {
    queue(*some_core(), &t);
  } catch (std::exception const&) { // no threads, or no memory
    t.exec(t, nullptr);
  }
}

namespace {

struct ending_task final : task {
  future_state& state;
  void (*end)(future_state&) noexcept;
  ending_task(future_state& s, void (*f)(future_state&) noexcept) noexcept
      : task(&run)
      , state(s)
      , end(f) {}
  static void run(task& base, thread_context* /*runner: null, if the pool discards it*/) noexcept {
    auto& self = static_cast<ending_task&>(base);
    future_state& s = self.state;
    auto const end_it = self.end;
    free_in_slab(&self);
    end_it(s);
  }
};

} // namespace

void end_later(future_state& s, void (*end)(future_state&) noexcept) noexcept {
  try {
    queue_near(*make_in_slab<ending_task>(s, end), s.home());
  } catch (std::bad_alloc const&) {
    end(s);
  }
}

void spawn_state(pool_core& c, future_state& s) noexcept {
  s.set_home(&c);
  std::uint16_t const seat = s.seat.get(); // read before: once offered, another thread may run it
  queue_task(c, seat, s.queued.offer_first(), s, made_ready_by::call);
}

std::uint16_t checked_seat(pool_core& c, unsigned seat) {
  if (seat >= size_of(c))
    throw std::out_of_range("rubato: spawn_on(" + std::to_string(seat) + "): the pool has " +
                            std::to_string(size_of(c)) + " seats");
  return static_cast<std::uint16_t>(seat);
}

} // namespace rubato::detail
