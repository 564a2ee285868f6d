// Closes a descriptor, and frees its record, once no operation uses it any more. docs/design/reactor.md
//
// States: open, closed, or closed and dropped by its owner; each with n operations. Invariants: no operation
// enters a closed gate, so the thread that leaves a closed gate last closes the descriptor, once. The record
// is freed by the owner if no operation is inside when it drops the gate, else by the operation that leaves
// last.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"

#include <cstdint>

namespace rubato::detail {

/// What the thread that has left must do. It does not touch the gate any more.
enum class gate_duty : unsigned char { none, close, close_and_free };

template<class Policy>
class basic_close_gate {
  static constexpr std::uint32_t closed = 1, dropped = 2, one = 4;
  typename Policy::template atomic<std::uint32_t> word_{0};

public:
  /// False: it is closed.
  [[nodiscard]] bool enter() noexcept {
    std::uint32_t now = word_.load(std::memory_order_relaxed);
    do {
      if ((now & closed) != 0) return false;
    } while (!word_.compare_exchange_weak(now, now + one, std::memory_order_relaxed));
    return true;
  }
  /// For a thread that has entered. False: it was closed before.
  [[nodiscard]] bool close() noexcept {
    std::uint32_t const before = word_.fetch_or(closed, std::memory_order_relaxed);
    RUBATO_ASSERT(before >= one, "a gate is closed by a thread that has not entered", before);
    return (before & closed) == 0;
  }
  /// For the thread that has closed it and not left: other operations are inside. They may leave at any time,
  /// and none enters. relaxed: a hint.
  [[nodiscard]] bool has_others() const noexcept { return word_.load(std::memory_order_relaxed) / one > 1; }
  [[nodiscard]] gate_duty leave() noexcept {
    // acq_rel: pairs with the other operations' leave(), because their system calls come before the close,
    // and with drop(), because their uses of the record come before its end.
    std::uint32_t const before = word_.fetch_sub(one, std::memory_order_acq_rel);
    RUBATO_ASSERT(before >= one, "an operation leaves a gate that it has not entered", before);
    if (before == (one | closed)) return gate_duty::close;
    return before == (one | closed | dropped) ? gate_duty::close_and_free : gate_duty::none;
  }
  /// For the owner, after close(). True: no operation is inside, and the caller frees the record.
  [[nodiscard]] bool drop() noexcept {
    // acq_rel: pairs with leave().
    std::uint32_t const before = word_.fetch_or(dropped, std::memory_order_acq_rel);
    RUBATO_ASSERT((before & (closed | dropped)) == closed, "a gate is dropped twice, or is not closed",
                  before);
    return before == closed;
  }
  [[nodiscard]] bool is_closed() const noexcept {
    return (word_.load(std::memory_order_relaxed) & closed) != 0; // a hint
  }
};

} // namespace rubato::detail
