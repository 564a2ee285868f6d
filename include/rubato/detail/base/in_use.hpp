// A mark on something that one party at a time uses, and for which no party waits.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"

namespace rubato::detail {

/// Says that one party uses something. Each party sees what those before it have done with it.
template<class Policy>
class basic_in_use {
  typename Policy::template atomic<bool> value_{false};

public:
  constexpr basic_in_use() noexcept = default;

  // acquire and release: they pair with each other.
  /// False: another party uses it.
  [[nodiscard]] bool try_begin() noexcept { return !value_.exchange(true, std::memory_order_acquire); }
  void end() noexcept {
    // relaxed: only the party that uses it lowers the mark.
    RUBATO_ASSERT_STEP(value_.load(std::memory_order_relaxed), "a use ends that has not begun", this);
    value_.store(false, std::memory_order_release);
  }
};

using in_use = basic_in_use<std_policy>;

} // namespace rubato::detail
