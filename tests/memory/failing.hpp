// Allocations that fail now and then, as if memory was short.
#pragma once

#include <atomic>
#include <cstdint>

namespace rubato_test {

/// Of a hundred calls of operator new so many throw std::bad_alloc, in every thread.
inline constinit std::atomic<unsigned> failing_percent{0};

class failing_allocations {
public:
  explicit failing_allocations(unsigned percent) { failing_percent = percent; }
  failing_allocations(failing_allocations const&) = delete;
  failing_allocations& operator=(failing_allocations const&) = delete;
  ~failing_allocations() { failing_percent = 0; }
};

/// How many calls are left before the one that fails; below 1: none is chosen, or it has failed.
inline constinit std::atomic<std::int64_t> calls_to_failure{0};
inline constinit std::atomic<bool> later_ones_fail_too{false}, one_has_failed{false};

/// The n-th call of operator new from now on throws std::bad_alloc, in whatever thread, and so do all later
/// ones unless `once`.
class failing_allocation {
public:
  failing_allocation(std::int64_t n, bool once) {
    one_has_failed = false;
    later_ones_fail_too = !once;
    calls_to_failure = n;
  }
  failing_allocation(failing_allocation const&) = delete;
  failing_allocation& operator=(failing_allocation const&) = delete;
  ~failing_allocation() { end(); }
  /// All succeed again.
  static void end() noexcept {
    calls_to_failure = 0;
    later_ones_fail_too = false;
  }
  [[nodiscard]] static bool has_failed() noexcept { return one_has_failed; }
};

/// Asked by operator new.
inline bool fails_now() noexcept {
  if (calls_to_failure.load(std::memory_order_relaxed) > 0 &&
      calls_to_failure.fetch_sub(1, std::memory_order_relaxed) == 1) {
    one_has_failed = true;
    return true;
  }
  if (later_ones_fail_too && one_has_failed) return true;
  unsigned const percent = failing_percent.load(std::memory_order_relaxed);
  if (percent == 0) return false;
  static constinit std::atomic<unsigned> calls{0};
  unsigned x =
      calls.fetch_add(1, std::memory_order_relaxed) * 2'654'435'761U; // scattered, and the same in each run
  x ^= x >> 15U;
  return x % 100 < percent;
}

} // namespace rubato_test
