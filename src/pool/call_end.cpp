#include "pool/call_end.hpp"

#include "rubato/detail/future/continuation.hpp"
#include "rubato/detail/sched/wait/await.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "sched/wait/park.hpp"

namespace rubato::detail {

call_end::call_end(pool_core* driven)
    : state_(make_in_slab<promise_state<void>>()) {
  if (driven != nullptr) state_.get()->set_home(driven);
}

void call_end::reach() noexcept {
  // The waiter may destroy this as soon as the state is complete. complete() releases the second reference.
  auto& state = static_cast<promise_state<void>&>(*state_.get());
  state.slot().emplace();
  state.complete();
}

void call_end::wait() noexcept {
  if (current->core == nullptr) // a member's wait spins by itself
    spin(outside_spin_us * ticks_per_us(), [this] { return is_reached(); });
  await_end(*state_.get(), "call");
}

} // namespace rubato::detail
