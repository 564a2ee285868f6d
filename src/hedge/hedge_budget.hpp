// A bucket of tokens that calls fill and hedges empty.
//
// One word: `spent`. The bucket holds earned - spent, where the caller says how much has been earned in all,
// which only grows. A full bucket overflows: spent is at least earned - burst. That is settled when a token
// is taken and not before, since nothing looks at the bucket in between; so a call that earns writes nothing
// here.
//
// Invariant: tokens taken and not given back are at most what was earned in all. Every grant sets spent to a
// value of at most `earned`, and raises it by one token at least.
//
// Source: the virtual scheduling algorithm of ITU-T I.371, with calls for a clock.
#pragma once

#include "rubato/detail/base/policy.hpp"

#include <cstdint>

namespace rubato::detail {

template<class Policy>
class basic_hedge_budget {
  typename Policy::template atomic<std::uint64_t> spent_{0}; // in parts of a token
  std::uint64_t burst_;

  /// Differences are taken modulo 2^64.
  static constexpr bool less(std::uint64_t a, std::uint64_t b) noexcept {
    return static_cast<std::int64_t>(a - b) < 0;
  }

public:
  static constexpr std::uint64_t token = 1U << 16; // parts

  explicit basic_hedge_budget(unsigned burst) noexcept
      : burst_(burst * token) {}

  /// earned: parts of tokens, in all. It may be less than another thread has seen already. False: there is no
  /// whole token.
  [[nodiscard]] bool try_take(std::uint64_t earned) noexcept {
    std::uint64_t const overflown = earned - burst_;
    // relaxed, all: the word stands for itself, and no data is handed over with a token.
    std::uint64_t now = spent_.load(std::memory_order_relaxed);
    for (;;) {
      std::uint64_t const next = (less(now, overflown) ? overflown : now) + token;
      if (less(earned, next)) return false;
      if (spent_.compare_exchange_weak(now, next, std::memory_order_relaxed)) return true;
    }
  }

  /// A token that was taken. If the bucket is full by now, it overflows.
  void give_back() noexcept { spent_.fetch_sub(token, std::memory_order_relaxed); }
};

using hedge_budget = basic_hedge_budget<std_policy>;

} // namespace rubato::detail
