// Loops: the parts that need no template. docs/design/loops.md
#include "rubato/detail/fork/loop.hpp"

#include "rubato/detail/base/stop_scope.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/worker/park.hpp"

namespace rubato::detail {

void call_for_help(thread_context& me) noexcept { me.core->notify(); }

bool stop_around::scope_stopped() const noexcept {
  return scope_->stop_requested() || (scope_->is_owned() && core_->life.is_discarding());
}

void loop_root::piece_ends() noexcept {
  pool_thread& t = thread_of(*owner_); // read before: see below
  if (elsewhere_.arrive()) t.parker.unpark();
}

void loop_root::finish() {
  pool_thread& t = thread_of(*owner_);
  pool_core& core = *t.core;
  os::ticks spin_until = 0;
  while (!all_back()) {
    // Only pieces of this very loop: nothing else may run on top of the caller.
    steal_result l;
    core.threads.records.find(0, [&](pool_thread& v) {
      if (!stopped()) l = obtain(core, t, v, {.piece_of = this});
      return static_cast<bool>(l);
    });
    os::ticks const now = os::now();
    if (l) {
      run_latent(t, l);
      spin_until = 0;
    } else if (spin_until == 0) {
      spin_until = now + core.search_ticks();
    } else if (now < spin_until) {
      for (unsigned i = 0; i != 16; ++i) std_policy::pause();
    } else {
      park_until(core, t, "loop", nullptr, [this] { return all_back(); });
    }
  }
  if (!ended_early_.get()) return; // what the pieces did comes before: see all_back()
  throw_first();
  throw cancelled();
}

void loop_root::throw_first() {
  std::exception_ptr error;
  {
    std::lock_guard const guard(mutex_);
    error = std::move(error_);
  }
  if (error != nullptr) std::rethrow_exception(std::move(error));
}

} // namespace rubato::detail
