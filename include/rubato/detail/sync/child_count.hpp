// How many children refer to the frames of a coroutine task, and whether the task is to be destroyed.
// docs/design/coroutines.md
//
// States: n children; n children and to be dropped, n > 0; dropped. Invariant: one thread is told to destroy
// the task: the one that drops it if there is no child, else the last child. A stop request that is still
// under way may count itself as a child of a dropped task; that changes nothing.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"

#include <cstdint>

namespace rubato::detail {

template<class Policy>
class basic_child_count {
  static constexpr std::uint32_t to_be_dropped = 1, one = 2, dropped = 1U << 31U | to_be_dropped;
  typename Policy::template atomic<std::uint32_t> word_{0};

public:
  constexpr basic_child_count() noexcept = default;

  /// By the thread that runs the task. They may have ended already. relaxed: queued or awaited afterwards.
  void begin(std::uint32_t n) noexcept { word_.fetch_add(n * one, std::memory_order_relaxed); }
  /// A child does not refer to the frames any more. True: the caller destroys the task.
  [[nodiscard]] bool end() noexcept {
    constexpr std::uint32_t last = one | to_be_dropped;
    std::uint32_t now = word_.load(std::memory_order_relaxed);
    // acq_rel: pairs with itself and with drop(), because the thread that destroys the task sees what the
    // others have done.
    while (!word_.compare_exchange_weak(now, now == last ? dropped : now - one, std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
    }
    // Before the drop a child may end that is counted later.
    RUBATO_ASSERT_STEP((now & to_be_dropped) == 0 || (now & ~dropped) != 0,
                       "a child of a dropped task ends that was not counted", now);
    return now == last;
  }
  /// The task is to be destroyed, once. True: by the caller; false: by the last child.
  [[nodiscard]] bool drop() noexcept {
    std::uint32_t now = word_.load(std::memory_order_relaxed);
    // acq_rel: pairs with end(), as above.
    while (!word_.compare_exchange_weak(now, now == 0 ? dropped : now | to_be_dropped,
                                        std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
    RUBATO_ASSERT_STEP((now & to_be_dropped) == 0, "a task is dropped twice", now);
    return now == 0;
  }
  /// acquire: pairs with end(), because the caller goes on with what the children have done.
  [[nodiscard]] bool none() const noexcept { return word_.load(std::memory_order_acquire) == 0; }
};

using child_count = basic_child_count<std_policy>;

} // namespace rubato::detail
