// Loops: the parts that need no template. docs/design/loops.md
#include "rubato/detail/loop.hpp"

#include "rubato/detail/stop_scope.hpp"
#include "work/park.hpp"
#include "work/pool_core.hpp"

namespace rubato::detail {

void call_for_help(member& me) noexcept { me.core->notify(); }

bool loop_root::scope_stopped() const noexcept {
  return static_cast<stop_scope const*>(token_)->stop_requested() || owner_->core->is_discarding();
}

void loop_root::piece_ends() noexcept {
  pool_thread& t = thread_of(*owner_); // read before: see below
  // release: pairs with all_back(); acq_rel, so that the last one's includes the others'.
  if (elsewhere_.fetch_sub(1, std::memory_order_acq_rel) == 1) t.parker.unpark();
}

void loop_root::finish() {
  pool_thread& t = thread_of(*owner_);
  pool_core& core = *t.core;
  os::ticks spin_until = 0;
  while (!all_back()) {
    // Only pieces of this very loop: nothing else may run on top of the caller.
    loot l;
    for (unsigned i = 0, n = core.known(); i != n && !l; ++i) {
      pool_thread* const v = core.thread(i);
      if (v != nullptr && !stopped()) l = core.obtain(t, *v, {.piece_of = this});
    }
    os::ticks const now = os::now();
    if (l) {
      core.run(t, l);
      spin_until = 0;
    } else if (spin_until == 0) {
      spin_until = now + core.search_ticks();
    } else if (now < spin_until) {
      for (unsigned i = 0; i != 16; ++i) std_policy::pause();
    } else {
      core.park_until(t, "loop", nullptr, [this] { return all_back(); });
    }
  }
  // relaxed: what the pieces did comes before, see all_back().
  if (!ended_early_.load(std::memory_order_relaxed)) return;
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
