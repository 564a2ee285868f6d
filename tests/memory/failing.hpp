// Allocations that fail now and then, as if memory was short.
#pragma once

#include <atomic>

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

/// Asked by operator new.
inline bool fails_now() noexcept {
  unsigned const percent = failing_percent.load(std::memory_order_relaxed);
  if (percent == 0) return false;
  static constinit std::atomic<unsigned> calls{0};
  unsigned x =
      calls.fetch_add(1, std::memory_order_relaxed) * 2'654'435'761U; // scattered, and the same in each run
  x ^= x >> 15U;
  return x % 100 < percent;
}

} // namespace rubato_test
