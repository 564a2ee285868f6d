// The entry that stands in a queue for a coroutine task whose own entry was claimed and is still queued in
// another place. docs/design/coroutines.md
//
// States: no entry stands for the task; the entry with the newest number does. Older entries are stale.
// Invariant: of the threads that take that entry out of its queue or claim the task elsewhere, one gets it.
// Should the numbers have gone round while an entry was queued, it stands for the newest one.
#pragma once

#include "rubato/detail/base/policy.hpp"

#include <cstdint>

namespace rubato::detail {

template<class Policy>
class basic_requeue_number {
  static constexpr std::uint32_t stands = 1, one = 2;
  typename Policy::template atomic<std::uint32_t> word_{0};

public:
  constexpr basic_requeue_number() noexcept = default;

  /// The next entry's. relaxed: none stands for the task, so no other thread changes the number.
  [[nodiscard]] std::uint32_t next() const noexcept {
    return (word_.load(std::memory_order_relaxed) + one) | stands;
  }
  /// That entry stands for the task from now on. release: pairs with take() and claim(). seq_cst: pairs with
  /// is_ready(), because the caller reads the class next (queue_state::linked_class()), and a thread that
  /// raises the class looks for this entry afterwards.
  void offer(std::uint32_t number) noexcept { word_.store(number, std::memory_order_seq_cst); }
  [[nodiscard]] bool is_ready() const noexcept {
    return (word_.load(std::memory_order_seq_cst) & stands) != 0; // pairs with offer()
  }
  /// By the thread that has taken the entry with that number out of its queue. True: it has the task.
  [[nodiscard]] bool take(std::uint32_t number) noexcept {
    // acquire: pairs with offer(), because the task is resumed next.
    return word_.compare_exchange_strong(number, number & ~stands, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  /// By any other thread. True: it has the task, and the entry is stale.
  [[nodiscard]] bool claim() noexcept {
    return (word_.fetch_and(~stands, std::memory_order_acquire) & stands) != 0; // as in take()
  }
  [[nodiscard]] bool is_stale(std::uint32_t number) const noexcept {
    return word_.load(std::memory_order_relaxed) != number;
  }
};

using requeue_number = basic_requeue_number<std_policy>;

} // namespace rubato::detail
