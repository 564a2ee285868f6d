// The tasks of the priorities high and low, and the word that says whether there are any.
// docs/design/priorities.md
//
// `queued_` counts the tasks of each priority. A push counts first and then pushes; a pop pops first and then
// counts. Invariant: while the word says that a priority has none, each of its queues is empty.
// The word may be ahead of a push. So a worker that reads zero need not look at the queues.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"
#include "rubato/priority.hpp"
#include "sync/injector.hpp"

#include <cstddef>
#include <cstdint>

namespace rubato::detail {

/// Each priority has two queues, read in turn.
enum class priority_lane : unsigned char {
  tasks,
  events ///< what an event or a deadline has made ready
};

template<class Policy>
class basic_priority_queues {
  template<class T>
  using atomic = typename Policy::template atomic<T>;

  struct lane {
    basic_injector<Policy> queue;
    atomic<std::uint64_t> pushed{0}; // relaxed: a count
    atomic<std::uint64_t> popped{0}; // the same, changed under the queue's lock
  };
  // A task counts one in the half of its priority.
  static constexpr std::uint64_t one_low = 1, one_high = one_low << 32U, lows = one_high - one_low;

  alignas(64) atomic<std::uint64_t> queued_{0};
  lane high_[2];
  lane low_[2];

  static constexpr std::uint64_t one(priority c) noexcept { return c == priority::high ? one_high : one_low; }
  static constexpr std::size_t count_in(std::uint64_t word, priority c) noexcept {
    return static_cast<std::size_t>(c == priority::high ? word >> 32U : word & lows);
  }
  [[nodiscard]] lane& at(priority c, priority_lane l) noexcept {
    return (c == priority::high ? high_ : low_)[static_cast<std::size_t>(l)];
  }
  [[nodiscard]] lane const& at(priority c, priority_lane l) const noexcept {
    return (c == priority::high ? high_ : low_)[static_cast<std::size_t>(l)];
  }

public:
  using node = basic_queue_node<Policy>;

  // `c`: high or low

  /// From any thread. An event: the caller notifies.
  void push(node* n, priority c, priority_lane l) noexcept {
    lane& to = at(c, l);
    // seq_cst: the event of guarantee W begins here. The pusher reads the sleepers afterwards; a sleeper
    // announces itself, and then reads this word in has_ready().
    queued_.fetch_add(one(c), std::memory_order_seq_cst);
    to.queue.push(n);
    // Afterwards: at any time that many tasks have entered the queue, whichever thread pushed them.
    to.pushed.fetch_add(1, std::memory_order_relaxed);
  }

  /// The oldest of that lane, or null.
  [[nodiscard]] node* pop(priority c, priority_lane l) noexcept {
    lane& from = at(c, l);
    if (from.queue.empty()) return nullptr;
    lock_guard const guard(from.queue);
    node* const n = from.queue.pop();
    if (n == nullptr) return nullptr;
    from.popped.store(from.popped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    // release: pairs with has_ready(), because a thread that asks whether the pool is idle and finds no task
    // here must then see that this thread runs.
    std::uint64_t const before = queued_.fetch_sub(one(c), std::memory_order_release);
    RUBATO_ASSERT(count_in(before, c) != 0, "a task left a queue that it was not counted in", before);
    return n;
  }
  /// The oldest of either lane, in turn; null: there is none.
  [[nodiscard]] node* pop(priority c) noexcept {
    if (!any(c)) return nullptr;
    bool const events_first = popped(c) % 2 == 0;
    node* const n = pop(c, events_first ? priority_lane::events : priority_lane::tasks);
    return n != nullptr ? n : pop(c, events_first ? priority_lane::tasks : priority_lane::events);
  }

  // At a task boundary. relaxed: what was pushed before the boundary, as the program orders them, is counted.
  [[nodiscard]] bool any() const noexcept { return queued_.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] bool any(priority c) const noexcept { return size(c) != 0; }
  /// Counts pushes that have begun and not ended.
  [[nodiscard]] std::size_t size(priority c) const noexcept {
    return count_in(queued_.load(std::memory_order_relaxed), c);
  }

  /// Of one lane; not exact while threads push and pop.
  [[nodiscard]] std::size_t size(priority c, priority_lane l) const noexcept {
    std::uint64_t const out = popped(c, l), in = pushed(c, l);
    return in > out ? static_cast<std::size_t>(in - out) : 0;
  }

  /// Is a task queued? Exact for a thread that has ordered itself after the push.
  [[nodiscard]] bool has_ready() const noexcept {
    // seq_cst: see push(). acquire half: see pop().
    if (queued_.load(std::memory_order_seq_cst) == 0) return false;
    // The word is ahead of a push. A thread that took it for a task would look for it until the pusher goes
    // on, which the system may have put aside.
    for (priority_lane const l : {priority_lane::tasks, priority_lane::events})
      if (!at(priority::high, l).queue.empty() || !at(priority::low, l).queue.empty()) return true;
    return false;
  }

  // How many were ever pushed to a lane, and popped from it.
  [[nodiscard]] std::uint64_t pushed(priority c, priority_lane l) const noexcept {
    return at(c, l).pushed.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t popped(priority c, priority_lane l) const noexcept {
    return at(c, l).popped.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t pushed(priority c) const noexcept {
    return pushed(c, priority_lane::tasks) + pushed(c, priority_lane::events);
  }
  [[nodiscard]] std::uint64_t popped(priority c) const noexcept {
    return popped(c, priority_lane::tasks) + popped(c, priority_lane::events);
  }
};

using priority_queues = basic_priority_queues<std_policy>;

} // namespace rubato::detail
