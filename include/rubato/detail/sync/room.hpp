// The room in a queue of limited length whose two ends have a lock each. docs/design/async-sync.md
//
// Receivers count under their lock what they take; senders count under theirs what they put in, and keep a
// limit for that count. Only a sender that has reached its limit reads the receivers' count, so the two ends
// share no line while there is room.
//
// Must not occur: more values are in the queue than its capacity; or a send returns that found the room which
// a receive made, and does not see what the receiver did before.
#pragma once

#include "rubato/detail/base/assert.hpp"

#include <atomic>
#include <cstddef>

namespace rubato::detail {

/// How many values have left the queue. Modulo 2^64, as the counts of basic_room.
template<class Policy>
class basic_taken_count {
  typename Policy::template atomic<std::size_t> n_{0};

public:
  /// By a receiver, under the receivers' lock, when it has taken a value.
  void add() noexcept {
    // relaxed: the lock orders the receivers. release: pairs with get(), because the send that this lets in
    // happens after the receive.
    n_.store(n_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  [[nodiscard]] std::size_t get() const noexcept { return n_.load(std::memory_order_acquire); }
};

/// The senders' side, under their lock.
template<class Policy>
class basic_room {
  std::size_t const capacity_;
  std::size_t put_ = 0; // values that have entered the queue
  std::size_t limit_;   // of put_, by what was last read of the other count

public:
  explicit basic_room(std::size_t capacity) noexcept
      : capacity_(capacity)
      , limit_(capacity) {}

  /// True: a value may enter.
  [[nodiscard]] bool is_free(basic_taken_count<Policy> const& taken) noexcept {
    if (put_ != limit_) return true;
    limit_ = taken.get() + capacity_;
    return put_ != limit_;
  }
  /// A value has entered.
  void fill() noexcept {
    RUBATO_ASSERT_STEP(put_ != limit_, "a value enters a queue that is full", put_, capacity_);
    ++put_;
  }
};

} // namespace rubato::detail
