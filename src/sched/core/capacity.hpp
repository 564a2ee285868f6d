// How many tasks may be queued in a pool: max_queued, and the tasks that outside threads may still queue
// while the pool ends. The protocol is in sync/queue_limit.hpp.
#pragma once

#include "sync/queue_limit.hpp"

#include <cstddef>
#include <optional>

namespace rubato::detail {

class lifecycle;
class pool_core;
class progress_monitor;
struct pool_thread;

class capacity {
  pool_core& core_;
  lifecycle& life_;
  progress_monitor& progress_;
  queue_limit limit_;

  [[nodiscard]] admission wait(pool_thread& t) noexcept;
  [[nodiscard]] admission wait_outside() noexcept;
  [[nodiscard]] admission acquire_or_exceed() noexcept;

public:
  capacity(pool_core& core, lifecycle& life, progress_monitor& progress,
           std::optional<std::size_t> most) noexcept;

  /// For one task of the caller: waits, or throws cancelled if it is refused.
  void acquire();
  [[nodiscard]] admission try_acquire() noexcept;
  /// For one task that holds no capacity. False: it is refused, because the pool ends.
  [[nodiscard]] bool admit() noexcept;
  void release() noexcept { limit_.release(); }
  /// The pool begins to end: from now on it counts what outside threads queue.
  void restart_late() noexcept { limit_.restart_late(); }
  /// Callers that wait try again: the pool ends, or its size has changed.
  void wake_all() noexcept { limit_.wake_all(); }
};

/// The part of that pool, for code that needs no other part of it.
[[nodiscard]] capacity& capacity_of(pool_core& c) noexcept;

} // namespace rubato::detail
