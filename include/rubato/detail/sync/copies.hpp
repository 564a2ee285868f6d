// Several copies of one call, of which one counts: which has begun, which result counts, when all have ended.
// docs/design/hedging.md
//
// States of the call: open; won by a copy; failed; stopped. Phases of a copy: not due, waiting, running,
// withdrawn. A copy is *inside* from its admission until it has ended or was withdrawn: while it is
// inside it may use the callable.
//
// Invariant: while the call is open, a copy is inside. So the change that takes the last one out finds the
// call decided, or decides it.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"

#include <cstdint>

namespace rubato::detail {

enum class copy_phase : unsigned char { not_due, waiting, running, withdrawn };

template<class Policy>
class basic_copies {
  // The decision in the upper half, the number of copies inside in the lower.
  typename Policy::template atomic<std::uint64_t> word_;

  static constexpr std::uint32_t decision_of(std::uint64_t w) noexcept {
    return static_cast<std::uint32_t>(w >> 32U);
  }
  static constexpr std::uint32_t inside_of(std::uint64_t w) noexcept { return static_cast<std::uint32_t>(w); }
  static constexpr std::uint64_t word(std::uint32_t decision, std::uint32_t inside) noexcept {
    return std::uint64_t{decision} << 32U | inside;
  }

public:
  using phase = typename Policy::template atomic<copy_phase>;
  /// The decisions; above `stopped`: won by the copy of that number less `first_winner`.
  static constexpr std::uint32_t open = 0, failed = 1, stopped = 2, first_winner = 3;

  /// What a change has done.
  struct change {
    bool decided = false;     ///< the call was open before: the caller withdraws the waiting copies
    bool last = false;        ///< no copy is inside any more
    bool late = false;        ///< a copy was taken out of a call that had been decided before
    std::uint32_t inside = 0; ///< how many are left
  };

  /// `admitted` copies are inside: those that begin at once.
  explicit basic_copies(std::uint32_t admitted) noexcept
      : word_(word(open, admitted)) {}

  /// A delayed copy is due. False: the call is decided, and it does not begin. The caller then sets its phase
  /// to waiting, and sends it.
  [[nodiscard]] bool admit() noexcept {
    std::uint64_t w = word_.load(std::memory_order_relaxed);
    do {
      if (decision_of(w) != open) return false;
      RUBATO_ASSERT_STEP(inside_of(w) != 0, "a call is open without a copy", w);
      // relaxed: it only counts. What the new copy uses was written before the state was shared.
    } while (!word_.compare_exchange_weak(w, w + 1, std::memory_order_relaxed, std::memory_order_relaxed));
    return true;
  }

  enum class start : unsigned char {
    run,     ///< the caller calls the function, then end()
    decided, ///< the call is decided: the caller calls end() without a value
    none     ///< it was withdrawn: the caller touches nothing
  };
  /// By the thread that was sent to the copy.
  [[nodiscard]] start begin(phase& p) noexcept {
    copy_phase expected = copy_phase::waiting;
    // relaxed: the right to run the copy is all that passes.
    if (!p.compare_exchange_strong(expected, copy_phase::running, std::memory_order_relaxed,
                                   std::memory_order_relaxed)) {
      RUBATO_ASSERT_STEP(expected == copy_phase::withdrawn,
                         "a copy begins that was not sent, or begins twice", expected);
      return start::none;
    }
    return is_decided() ? start::decided : start::run;
  }

  /// The copy has ended, and its slot is filled: it is inside no more. `has_value`: it returned, in time.
  [[nodiscard]] change end(std::uint32_t number, bool has_value) noexcept {
    std::uint64_t w = word_.load(std::memory_order_relaxed);
    for (;;) {
      RUBATO_ASSERT(inside_of(w) != 0, "a copy ends that is not inside", w);
      std::uint32_t const inside = inside_of(w) - 1;
      bool const decides = decision_of(w) == open && (has_value || inside == 0);
      std::uint32_t const decision = decides ? (has_value ? first_winner + number : failed) : decision_of(w);
      // acq_rel: pairs with itself, because the thread that takes the last copy out lets the caller destroy
      // what the other copies have used, and the decider lets the caller read the winner's slot.
      if (word_.compare_exchange_weak(w, word(decision, inside), std::memory_order_acq_rel,
                                      std::memory_order_relaxed))
        return {.decided = decides, .last = inside == 0, .late = decision_of(w) != open, .inside = inside};
    }
  }

  /// From outside: no copy wins any more.
  [[nodiscard]] change stop() noexcept {
    std::uint64_t w = word_.load(std::memory_order_relaxed);
    do {
      if (decision_of(w) != open) return {};
      RUBATO_ASSERT_STEP(inside_of(w) != 0, "a call is open without a copy", w);
      // relaxed: a stop has nothing to show. The copies are told by their token.
    } while (!word_.compare_exchange_weak(w, word(stopped, inside_of(w)), std::memory_order_relaxed,
                                          std::memory_order_relaxed));
    return {.decided = true, .last = false, .late = false, .inside = inside_of(w)};
  }

  /// By the thread that has decided, for each copy. The result is that of end(), and so `late`, if the copy
  /// was waiting: it never begins.
  [[nodiscard]] change withdraw(std::uint32_t number, phase& p) noexcept {
    copy_phase expected = copy_phase::waiting;
    // relaxed: as in begin().
    if (!p.compare_exchange_strong(expected, copy_phase::withdrawn, std::memory_order_relaxed,
                                   std::memory_order_relaxed))
      return {};
    return end(number, false);
  }

  /// A hint, unless no copy is inside.
  [[nodiscard]] std::uint32_t decision() const noexcept {
    return decision_of(word_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] bool is_decided() const noexcept { return decision() != open; }
  [[nodiscard]] std::uint32_t inside() const noexcept {
    return inside_of(word_.load(std::memory_order_relaxed));
  }
};

using copies = basic_copies<std_policy>;

} // namespace rubato::detail
