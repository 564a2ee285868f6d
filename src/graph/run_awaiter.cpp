#include "rubato/detail/graph/run_awaiter.hpp"

#include "rubato/detail/sched/wait/arrival.hpp"
#include "rubato/detail/work/future_state.hpp"
#include "work/pool_thread.hpp"

#include <optional>
#include <stdexcept>
#include <utility>

namespace rubato::detail {

void run_end::tell() const noexcept {
  if (caller != nullptr) thread_of(*caller).parker.unpark();
  if (awaiter != nullptr) awaiter->run_has_ended();
}

bool run_awaiter::insert() {
  if (std::exchange(used_, true))
    throw std::logic_error("rubato: async_run() is awaited again: call it anew for each run");
  pool_core& home = *coroutine().home();
  pool_core& core = pool_ != nullptr ? *rubato::detail::core_of(*pool_) : home;
  std::optional<arrival> in; // until it is queued
  if (&core != &home) in.emplace(core, arriving::unlimited);
  if (!begin(core, coroutine().scope())) return false;
  coroutine().children_begun(1);
  queue_task(core, future_state::any_seat, priority::normal, *this);
  return true;
}

void run_awaiter::run_entry(task& base, thread_context* runner) noexcept {
  static_cast<run_awaiter&>(base).work(runner);
}

void run_awaiter::run_has_ended() noexcept {
  coroutine_task& a = coroutine();
  a.hold(); // the coroutine may go on, and end
  state_ref const held(&a);
  end_wait();
  if (a.child_ended()) a.destroy();
}

} // namespace rubato::detail
