// A place to run tasks: its queues belong to it, not to the thread that sits there. docs/design/queues.md
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/work/task.hpp"
#include "sync/idle_set.hpp"
#include "sync/injector.hpp"
#include "sync/run_queue.hpp"
#include "work/counters.hpp"

#include <cstddef>
#include <cstdint>

namespace rubato::detail {

using run_queue = basic_run_queue<std_policy, task>;

/// The tasks that must run on one seat: pushed by any thread, popped in the order of the pushes.
class seat_inbox {
  injector queue_;
  relaxed<std::uint64_t> pushed_;
  relaxed<std::uint64_t> popped_; // changed under the queue's lock

public:
  void push(task* t) noexcept {
    pushed_.add(1);
    queue_.push(t);
  }
  /// The oldest, or null.
  [[nodiscard]] task* pop() noexcept {
    if (queue_.empty()) return nullptr;
    lock_guard const guard(queue_);
    auto* const t = static_cast<task*>(queue_.pop());
    if (t == nullptr) return nullptr;
    // The count of the pushes comes before the push.
    RUBATO_ASSERT(popped_.get() < pushed_.get(), "a task left an inbox that it was not counted in",
                  popped_.get(), pushed_.get());
    popped_.set(popped_.get() + 1);
    return t;
  }
  /// Exact for a thread that has ordered itself after the push, as injector::empty().
  [[nodiscard]] bool empty() const noexcept { return queue_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept {
    std::uint64_t const popped = popped_.get();
    std::uint64_t const pushed = pushed_.get();
    return pushed > popped ? static_cast<std::size_t>(pushed - popped) : 0;
  }
};

struct seat : idle_set_seat {
  unsigned index = 0;
  int cpu = -1;                     ///< where its thread is pinned; -1: nowhere
  single_slot<task> lifo_slot;      ///< runs next; only while the occupant runs a task
  run_queue queue;                  ///< pushed by the occupant, popped by any thread
  seat_inbox inbox;                 ///< tasks that must run here
  counters counts;                  ///< written by the occupant: pool_thread::bump()
  relaxed<std::uint64_t> injected;  ///< pushed to the injector by the occupants; written by them
  relaxed<std::uint64_t> batch_end; ///< the position in `queue` behind the last batch from the injector
  relaxed<std::uint64_t> taken;     ///< popped from the backlog by the occupants; written by them
};

} // namespace rubato::detail
