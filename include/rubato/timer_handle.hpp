// What is queued for later can be called off.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/detail/future_state.hpp"

#include <utility>

namespace rubato {

/// Refers to what pool::enqueue_after() or enqueue_at() will queue. Dropping it calls nothing off.
class timer_handle {
  friend class pool;
  detail::state_ref work_;
  explicit timer_handle(detail::state_ref w) noexcept
      : work_(std::move(w)) {}

public:
  timer_handle() noexcept = default;
  /// True: it will not be queued any more, and is destroyed. False: it has been queued, or called off, or the
  /// handle is empty. Thread-safe on different handles.
  bool cancel() noexcept;
};

} // namespace rubato
