// How many tasks may be queued in a pool: max_queued, and the tasks that outside threads may still queue
// while the pool ends. The protocol is in sync/queue_limit.hpp.
#pragma once

#include "rubato/detail/work/pool_port.hpp"
#include "sync/queue_limit.hpp"

#include <cstddef>
#include <optional>

namespace rubato::detail {

class capacity {
  pool_core const& core_;
  life_state& life_;
  queue_limit limit_;

  [[nodiscard]] bool is_late() const noexcept;

public:
  capacity(pool_core const& core, life_state& life, std::optional<std::size_t> most) noexcept;

  /// For one task of the caller. acquire_capacity() waits, too.
  [[nodiscard]] admission try_acquire() noexcept;
  /// For one task that holds no capacity. False: it is refused, because the pool ends.
  [[nodiscard]] bool admit() noexcept;
  void release() noexcept { limit_.release(); }
  /// The pool begins to end: from now on it counts what outside threads queue.
  void restart_late() noexcept { limit_.restart_late(); }
  /// The waiter is told of capacity, until leave().
  void enter(queue_limit::waiter& w) noexcept { limit_.enter(w); }
  void leave(queue_limit::waiter& w) noexcept { limit_.leave(w); }
  /// One task more than the limit is queued.
  void exceed() noexcept { limit_.exceed(); }
  /// Callers that wait try again: the pool ends, or its size has changed.
  void notify_all() noexcept { limit_.notify_all(); }
};

} // namespace rubato::detail
