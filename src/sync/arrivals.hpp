// The pools into which a thread from outside is about to queue work. docs/design/lifecycle.md
//
// Must not occur: a pool closes, and then the thread queues work there. The race: the thread stores the pool
// here and then loads whether the pool is closed; the closer stores that and then looks here.
// heavy_barrier() stands in for the fence that the thread saves, so at least one of them sees the other's
// store. The thread that sees it is refused; the closer that sees it takes its store back.
//
// Must not occur: the closer waits for ever for that thread. The thread stores null here and then loads
// whether the pool ends; the closer has stored that, has executed heavy_barrier(), and then looks here. So
// the closer sees null, or the thread sees that the pool ends, and tells it.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"

#include <array>

namespace rubato::detail {

/// Of one thread. Other threads only call is_at().
template<class Policy, unsigned Deepest = 6>
class basic_arrivals {
  std::array<typename Policy::template atomic<void const*>, Deepest> pools_{};
  unsigned depth_ = 0;

public:
  /// The thread asks next whether the pool is closed. `asymmetric`: heavy_barrier() works; else the thread
  /// executes a fence.
  void begin(void const* pool, bool asymmetric) noexcept {
    RUBATO_ASSERT(depth_ < Deepest, "too many arrivals within each other", depth_);
    // release: pairs with is_at() of the pool that stood here before. Its closer may find this pool in the
    // place of the null that end() has stored, and sees the work that was queued all the same.
    pools_[depth_++].store(pool, std::memory_order_release);
    order(asymmetric);
  }
  /// The thread asks next whether the pool ends.
  void end(bool asymmetric) noexcept {
    RUBATO_ASSERT(depth_ != 0, "an arrival ends that has not begun", depth_);
    // release: pairs with is_at(), because the closer then sees the work that was queued.
    pools_[--depth_].store(nullptr, std::memory_order_release);
    order(asymmetric);
  }
  [[nodiscard]] bool is_full() const noexcept { return depth_ == Deepest; }
  [[nodiscard]] bool is_empty() const noexcept { return depth_ == 0; }

  /// By the closer, after its store and heavy_barrier().
  [[nodiscard]] bool is_at(void const* pool) const noexcept {
    for (auto const& p : pools_)
      if (p.load(std::memory_order_acquire) == pool) return true; // pairs with begin() and end()
    return false;
  }

private:
  static void order(bool asymmetric) noexcept {
    if (asymmetric)
      Policy::light_barrier(); // pairs with the closer's heavy_barrier(): see above
    else
      Policy::fence();
  }
};

} // namespace rubato::detail
