// How deep stacks get: the widest distance, on any one thread, between two points where it was touched.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rubato_test {

class stack_meter {
public:
  stack_meter()
      : id_(++last_id_) {}

  /// Call it from the work itself, on any thread.
  [[gnu::noinline]] void touch() {
    // the frame's address, not a local's: a sanitizer may keep locals elsewhere
    auto const here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    auto& mine = touched_;
    if (mine.meter != id_) mine = {id_, here, here};
    mine.low = std::min(mine.low, here);
    mine.high = std::max(mine.high, here);
    std::size_t const extent = mine.high - mine.low;
    std::size_t seen = extent_.load(std::memory_order_relaxed);
    while (seen < extent && !extent_.compare_exchange_weak(seen, extent, std::memory_order_relaxed)) {
    }
  }

  std::size_t extent() const { return extent_.load(std::memory_order_relaxed); }

private:
  struct touched {
    unsigned meter; // 0: none yet
    std::uintptr_t low;
    std::uintptr_t high;
  };

  unsigned const id_;
  std::atomic<std::size_t> extent_{0};
  inline static std::atomic<unsigned> last_id_{0};
  inline static thread_local touched touched_{0, 0, 0};
};

} // namespace rubato_test
