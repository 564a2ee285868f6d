// Says that a thread may block in the kernel while it keeps its seat, so that the monitor looks at work which
// only that thread would begin. docs/design/parking.md
//
// States: the number of blocking regions, nested in each other. The thread alone changes it.
//
// Must not occur: the thread blocks, its seat hides work, and the monitor sleeps without a timeout. Three
// threads meet:
// - The thread sets the mark and then looks at its seat's inbox; a pusher pushes to the inbox and then nudges
//   the monitor; both writes are seq_cst. If the thread does not see the push, the push comes later, and so
//   does the nudge, which wakes a monitor that sleeps.
// - The monitor announces its sleep and then looks at the mark and the inbox. If its look misses the
//   mark, the mark comes after the announcement. So the thread either sees the push, and its own nudge
//   sees a monitor that sleeps, or the push comes later still.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"

namespace rubato::detail {

template<class Policy>
class basic_blocking_mark {
  typename Policy::template atomic<unsigned> regions_{0};

public:
  constexpr basic_blocking_mark() noexcept = default;

  /// By the thread. Afterwards it looks at its work, and nudges the monitor if there is some.
  void enter() noexcept {
    // seq_cst: pairs with the fence in basic_monitor_sleep::announce(). Either the monitor finds the mark, or
    // the caller what was pushed before.
    regions_.store(regions_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  }
  /// By the thread. relaxed: a monitor that sees it late sends a substitute that finds nothing.
  void leave() noexcept {
    unsigned const before = regions_.load(std::memory_order_relaxed);
    RUBATO_ASSERT(before != 0, "a blocking region ends that has not begun", before);
    regions_.store(before - 1, std::memory_order_relaxed);
  }
  /// By the monitor before it looks at the work, or by the thread.
  [[nodiscard]] bool is_set() const noexcept {
    return regions_.load(std::memory_order_relaxed) != 0; // relaxed: announce() orders it
  }
};

using blocking_mark = basic_blocking_mark<std_policy>;

} // namespace rubato::detail
