// A seat's run queue: its occupant pushes, any thread pops, oldest first. docs/design/queues.md
//
// Source: the run queues of Go's scheduler and of tokio; a bounded ring with one producer.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace rubato::detail {

/// Holds `Capacity` pointers, a power of two. Positions count up for ever: no reuse, no ABA.
template<class Policy, class Node, std::size_t Capacity = 256>
class basic_run_queue {
  static_assert((Capacity & (Capacity - 1)) == 0);
  template<class T>
  using atomic = typename Policy::template atomic<T>;

  alignas(64) atomic<std::uint64_t> head_{0}; // consumers
  alignas(64) atomic<std::uint64_t> tail_{0}; // the producer alone
  std::array<atomic<Node*>, Capacity> ring_{};

public:
  static constexpr std::size_t capacity = Capacity;

  basic_run_queue() noexcept = default;

  /// For the worker on the seat. False: full.
  [[nodiscard]] bool push(Node* n) noexcept {
    std::uint64_t const tail = tail_.load(std::memory_order_relaxed); // own
    // acquire: pairs with the release in pop(), because the slot is written anew.
    std::uint64_t const head = head_.load(std::memory_order_acquire);
    RUBATO_ASSERT(tail - head <= Capacity, "two threads push to one seat's queue", head, tail);
    if (tail - head == Capacity) return false;
    ring_[tail % Capacity].store(n, std::memory_order_relaxed);
    // seq_cst: the event of guarantee W, as in the injector. Its release half pairs with pop().
    tail_.store(tail + 1, std::memory_order_seq_cst);
    return true;
  }

  /// For the worker on the seat: appends what `next()` returns until it returns null, at most `most` and as
  /// many as there is room for, in one step.
  template<class Next>
  std::size_t fill(Next next, std::size_t most) noexcept {
    std::uint64_t const tail = tail_.load(std::memory_order_relaxed); // as in push()
    std::uint64_t const head = head_.load(std::memory_order_acquire);
    RUBATO_ASSERT(tail - head <= Capacity, "two threads push to one seat's queue", head, tail);
    std::size_t const room = Capacity - static_cast<std::size_t>(tail - head);
    std::size_t number = 0;
    for (Node* n = nullptr; number != most && number != room && (n = next()) != nullptr; ++number)
      ring_[(tail + number) % Capacity].store(n, std::memory_order_relaxed);
    if (number != 0) tail_.store(tail + number, std::memory_order_seq_cst);
    return number;
  }

  /// From any thread: the oldest, or null.
  [[nodiscard]] Node* pop() noexcept {
    std::uint64_t head = head_.load(std::memory_order_acquire);
    for (;;) {
      // seq_cst: a sleeper that has announced itself looks here. acquire half: pairs with push().
      if (head >= tail_.load(std::memory_order_seq_cst)) return nullptr;
      Node* const n = ring_[head % Capacity].load(std::memory_order_relaxed);
      // release: pairs with push(), because the slot has been read. acquire on failure: the new head goes
      // with a tail that is at least as new.
      if (head_.compare_exchange_weak(head, head + 1, std::memory_order_acq_rel, std::memory_order_acquire))
        return n;
    }
  }

  /// Steals up to half of the tasks, at least one: returns the oldest and moves the rest to `mine`, which is
  /// the caller's and empty. Null: there was none.
  [[nodiscard]] Node* steal_into(basic_run_queue& mine) noexcept {
    RUBATO_ASSERT(&mine != this, "a seat steals from itself", this);
    std::uint64_t head = head_.load(std::memory_order_acquire);
    for (;;) {
      std::uint64_t const tail = tail_.load(std::memory_order_seq_cst); // as in pop()
      if (head >= tail) return nullptr;
      std::uint64_t const number = (tail - head + 1) / 2;
      std::uint64_t const end = mine.tail_.load(std::memory_order_relaxed);
      if (end - mine.head_.load(std::memory_order_acquire) + number > Capacity) return pop();
      Node* const first = ring_[head % Capacity].load(std::memory_order_relaxed);
      // Written beyond the caller's tail, where no thread looks until it moves.
      for (std::uint64_t i = 1; i < number; ++i)
        mine.ring_[(end + i - 1) % Capacity].store(
            ring_[(head + i) % Capacity].load(std::memory_order_relaxed), std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, head + number, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
        mine.tail_.store(end + number - 1, std::memory_order_seq_cst); // as in push()
        return first;
      }
    }
  }

  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t size() const noexcept {
    std::uint64_t const head = head_.load(std::memory_order_acquire);
    std::uint64_t const tail = tail_.load(std::memory_order_seq_cst); // as in pop()
    return tail > head ? static_cast<std::size_t>(tail - head) : 0;
  }
  /// How many have been pushed and popped in all: the progress monitor sees by them whether the queue moves.
  [[nodiscard]] std::uint64_t pushed() const noexcept { return tail_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t popped() const noexcept { return head_.load(std::memory_order_acquire); }
};

} // namespace rubato::detail
