// Something that is due at a point in time. docs/design/timers.md
#pragma once

#include <chrono>
#include <cstddef>

namespace rubato::detail {

/// Intrusive: whoever arms it keeps it where it is until it has fired or was disarmed.
struct timer {
  static constexpr std::size_t idle = ~std::size_t{0};

  std::chrono::steady_clock::time_point due;
  std::size_t position = idle; ///< in the heap, guarded by its lock
  /// Called once, not before it is due, by the watch; it must be short and run no user code. Afterwards
  /// nobody touches the timer.
  void (*fire)(timer&) noexcept;

  explicit timer(void (*f)(timer&) noexcept) noexcept
      : fire(f) {}
};

/// Thread-safe; O(log n). Throws std::bad_alloc.
void arm(timer& t);
/// True: it will not fire any more. False: it was not armed, or fires now.
[[nodiscard]] bool disarm(timer& t) noexcept;

} // namespace rubato::detail
