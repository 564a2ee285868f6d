// Shows that a thread from outside still touches a pool, so that the pool's destructor waits for it.
// docs/design/lifecycle.md
#pragma once

#include "rubato/detail/work/thread_context.hpp"
#include "work/hazard_record.hpp"

#include <optional>

namespace rubato::detail {

/// Lives on the stack of an outside thread from before it does anything that other threads may notice (it
/// queues a task) until it touches the pool no more. Costs two plain stores. No user code runs under it.
class hazard_guard {
public:
  /// The pool must exist: it waits for something that the caller has not done yet. Else: guard_if_there().
  explicit hazard_guard(pool_core const& core) noexcept { own_hazards.guard(core); }
  hazard_guard(hazard_guard const&) = delete;
  hazard_guard& operator=(hazard_guard const&) = delete;
  ~hazard_guard() { own_hazards.unguard(); }
};

/// The same, for any thread. Does nothing in a thread of the pool, which does not end before its own threads.
class outside_guard {
  std::optional<hazard_guard> guard_;

public:
  explicit outside_guard(pool_core const& core) noexcept {
    if (current->core != &core) guard_.emplace(core);
  }
  void reset() noexcept { guard_.reset(); }
};

/// Waits until no thread guards the pool any more.
void await_hazards(pool_core const& core) noexcept;

/// By the closer, after its store and heavy_barrier(): is a thread about to queue work in the pool? See
/// sync/arrivals.hpp.
[[nodiscard]] bool any_arrival(pool_core const& core) noexcept;

// Around fork(): the child has none of the other threads.
void lock_hazards() noexcept;
void unlock_hazards() noexcept;
void forget_other_hazards() noexcept;

} // namespace rubato::detail
