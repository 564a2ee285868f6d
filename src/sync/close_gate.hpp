// Closes a descriptor once no operation uses it any more. docs/design/reactor.md
//
// States: open with n operations; closed with n operations; closed without: the thread that has left last
// closes the descriptor. Invariant: no operation enters a closed gate, so that happens once.
#pragma once

#include "rubato/detail/base/policy.hpp"

#include <cstdint>

namespace rubato::detail {

template<class Policy>
class basic_close_gate {
  static constexpr std::uint32_t closed = 1, one = 2;
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
    return (word_.fetch_or(closed, std::memory_order_relaxed) & closed) == 0;
  }
  /// True: it is closed and this was the last operation. The caller closes the descriptor.
  [[nodiscard]] bool leave() noexcept {
    // acq_rel: pairs with the other operations' leave(), because their system calls come before the close.
    return word_.fetch_sub(one, std::memory_order_acq_rel) == (one | closed);
  }
  [[nodiscard]] bool is_closed() const noexcept {
    return (word_.load(std::memory_order_relaxed) & closed) != 0; // a hint
  }
};

} // namespace rubato::detail
