// The end of something that another thread does, for a thread that waits for it. docs/c.md
#pragma once

#include "rubato/detail/work/future_state.hpp"

namespace rubato::detail {

/// Reached once. A member of a pool that waits leaves its seat, and runs nothing meanwhile. May be destroyed
/// as soon as it is reached.
class call_end {
  state_ref state_;

public:
  /// Throws std::bad_alloc. `driven`: while that pool has no workers, a thread that waits drives it.
  explicit call_end(pool_core* driven = nullptr);
  call_end(call_end&&) = default;
  /// By one thread. Wakes the threads that wait.
  void reach() noexcept;
  [[nodiscard]] bool is_reached() const noexcept { return state_.get()->done(); }
  /// Not ended by a stop.
  void wait() noexcept;
};

} // namespace rubato::detail
