// Loops: the parts that need no template. docs/design/loops.md
#include "rubato/detail/fork/loop.hpp"

#include "rubato/detail/base/stop_scope.hpp"
#include "sched/core/life_state.hpp"
#include "sched/run/search.hpp"
#include "sched/wait/park.hpp"

namespace rubato::detail {

bool stop_around::scope_stopped() const noexcept {
  return scope_->stop_requested() || (scope_->is_owned() && life_of(*core_).is_discarding());
}

void loop_root::piece_ends() noexcept {
  pool_thread& t = thread_of(*owner_); // read before: see below
  if (elsewhere_.arrive()) t.parker.unpark();
}

void loop_root::finish() {
  pool_thread& t = thread_of(*owner_);
  auto const done = [this] { return all_back(); };
  // Only pieces of this very loop: nothing else may run on top of the caller.
  steal_until(
      t, done, [&] { return stopped() ? steal_result() : find_latent(*t.core, t, {.piece_of = this}); },
      [&] { park_until(t, "loop", nullptr, done); });
  if (!ended_early_.get()) return; // what the pieces did comes before: see all_back()
  throw_first();
  throw cancelled();
}

void loop_root::throw_first() {
  std::exception_ptr error;
  {
    lock_guard const guard(mutex_);
    error = std::move(error_);
  }
  if (error != nullptr) std::rethrow_exception(std::move(error));
}

} // namespace rubato::detail
