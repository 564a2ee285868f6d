#include "rubato/detail/async_sync/thread_wait.hpp"

#include "rubato/detail/future/continuation.hpp"
#include "rubato/detail/sched/wait/await.hpp"
#include "sched/wait/park.hpp"

namespace rubato::detail {

thread_wait::thread_wait()
    : race(&end)
    , ended_(make_in_slab<promise_state<void>>()) {}

thread_wait::~thread_wait() {
  if (!has_waited_) ended_->release();
}

void thread_wait::end(race& r, bool /*by_event*/) noexcept {
  // The race is on the waiting thread's stack, and the thread may go on as soon as the state is complete.
  auto& state = static_cast<promise_state<void>&>(*static_cast<thread_wait&>(r).ended_.get());
  state.slot().emplace();
  state.complete();
}

bool thread_wait::wait(char const* why) noexcept {
  has_waited_ = true;
  if (current->core == nullptr) // a task's wait spins by itself
    spin(outside_spin_us * ticks_per_us(), [this] { return ended_->done(); });
  if (await(*ended_.get(), why)) return true;
  if (claim(stopped)) {
    ended_->release(); // the giver's hold: no giver comes
    return false;
  }
  await_end(*ended_.get(), why); // a giver is about to end it
  return true;
}

} // namespace rubato::detail
