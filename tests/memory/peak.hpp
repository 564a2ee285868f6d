// How much memory operator new has given out at most, and how often it was called. Filled by the operators in
// allocations_test.cpp.
#pragma once

#include <malloc.h>

#include <atomic>
#include <cstddef>

namespace rubato_test {

inline constinit std::atomic<std::size_t> allocations_made{0}, bytes_in_use{0}, most_bytes_in_use{0};

inline void note_allocated(void* p) noexcept {
  allocations_made.fetch_add(1, std::memory_order_relaxed);
  std::size_t const now = bytes_in_use += ::malloc_usable_size(p);
  std::size_t most = most_bytes_in_use.load(std::memory_order_relaxed);
  while (most < now && !most_bytes_in_use.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
}
inline void note_freed(void* p) noexcept {
  if (p != nullptr) bytes_in_use -= ::malloc_usable_size(p);
}

/// Since its construction.
class memory_meter {
  std::size_t const calls_before_ = allocations_made;
  std::size_t const bytes_before_ = bytes_in_use;

public:
  memory_meter() { most_bytes_in_use = bytes_before_; }
  [[nodiscard]] std::size_t calls() const { return allocations_made - calls_before_; }
  [[nodiscard]] std::size_t most() const { return most_bytes_in_use - bytes_before_; }
};

} // namespace rubato_test
