// What the threads that run the members of a forked group agree on. docs/design/coroutines.md
//
// The coroutine that has forked the group runs members in its place, and counts those that it does not run.
// Others end on other threads. While nothing of that happens, and no member fails, all words stay zero.
//
// - ended_: the members that have ended elsewhere; once the coroutine waits for the rest, less the number of
//   all that are elsewhere. The thread that brings it to zero resumes the coroutine: that of the last member,
//   or the coroutine's own, which then does not wait.
// - first_failed_: the member that failed first. The thread that claims it stores the exception and stops the
//   others before it counts its member as ended: the group still exists.
// - odd_: bits. The group's stop scope is built when a thread asks for it: a thief, a wait of a member, a
//   failure. A scope is linked to the one around, which is built first: a builder takes the bits of the
//   groups from the inside outwards, then builds from the outside inwards. So two builders do not deadlock.
//
// Must not occur: the coroutine goes on before its last member has ended, or twice, or never; a scope is
// built twice, or used before it is built.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"

#include <cstdint>

namespace rubato::detail {

template<class Policy>
class basic_group_state {
  static constexpr std::uint32_t has_scope_bit = 1, builds_scope = 2, waited_bit = 4, failed_bit = 8;
  template<class T>
  using atomic = typename Policy::template atomic<T>;

  atomic<std::uint32_t> odd_{0};
  atomic<std::uint32_t> ended_{0};
  atomic<std::uint32_t> first_failed_{0}; // 1 + its index

public:
  constexpr basic_group_state() noexcept = default;

  /// For the coroutine, when all members have ended. relaxed: if a member ended elsewhere, the coroutine has
  /// waited for it, or waited_bit is its own.
  [[nodiscard, gnu::always_inline]] bool is_plain() const noexcept {
    return odd_.load(std::memory_order_relaxed) == 0;
  }

  // The scope, by any thread that keeps the group from ending.

  [[nodiscard]] bool has_scope() const noexcept {
    // acquire: pairs with scope_is_built(), because the caller uses the scope.
    return (odd_.load(std::memory_order_acquire) & has_scope_bit) != 0;
  }
  /// False: there is one. True: the caller builds it, and then calls scope_is_built().
  [[nodiscard]] bool begin_scope() noexcept {
    std::uint32_t now = odd_.load(std::memory_order_acquire); // as in has_scope()
    for (unsigned round = 0; (now & has_scope_bit) == 0;) {
      if ((now & builds_scope) != 0) {
        Policy::back_off(round++);
        now = odd_.load(std::memory_order_acquire);
      } else if (odd_.compare_exchange_weak(now, now | builds_scope, std::memory_order_relaxed,
                                            std::memory_order_acquire)) {
        return true; // relaxed: the builder reads nothing that another one has written
      }
    }
    return false;
  }
  void scope_is_built() noexcept {
    // Clears the one bit and sets the other. release: pairs with has_scope() and begin_scope().
    std::uint32_t const before = odd_.fetch_sub(builds_scope - has_scope_bit, std::memory_order_release);
    RUBATO_ASSERT_STEP((before & (builds_scope | has_scope_bit)) == builds_scope,
                       "a scope was built that no thread had begun", before);
  }

  // Failures

  /// True: this member is the first that has failed. The caller stores the exception, calls
  /// failure_is_stored(), and stops the others.
  [[nodiscard]] bool claim_failure(std::uint32_t index) noexcept {
    std::uint32_t expected = 0;
    // relaxed: what the winner writes next is published by failure_is_stored() and by the member's end.
    return first_failed_.compare_exchange_strong(expected, index + 1, std::memory_order_relaxed,
                                                 std::memory_order_relaxed);
  }
  void failure_is_stored() noexcept { odd_.fetch_or(failed_bit, std::memory_order_relaxed); }
  /// For the coroutine, when all members have ended: relaxed, as is_plain().
  [[nodiscard]] bool has_failed() const noexcept {
    return (odd_.load(std::memory_order_relaxed) & failed_bit) != 0;
  }

  // The end

  /// A member that ran elsewhere has ended. True: the coroutine waits, and the caller ends that wait. Else
  /// the group may be gone.
  [[nodiscard]] bool end_elsewhere() noexcept {
    // acq_rel: pairs with itself and with wait_for(), because the coroutine uses what all members have
    // written.
    return ended_.fetch_add(1, std::memory_order_acq_rel) + 1 == 0;
  }
  /// By the coroutine, when no member is left to run here: it is about to wait for that many.
  void begin_wait() noexcept { odd_.fetch_or(waited_bit, std::memory_order_relaxed); }
  [[nodiscard]] bool has_waited() const noexcept {
    return (odd_.load(std::memory_order_relaxed) & waited_bit) != 0;
  }
  /// True: not all have ended, and the last one ends the wait.
  [[nodiscard]] bool wait_for(std::uint32_t elsewhere) noexcept {
    // acq_rel: pairs with end_elsewhere(). release, because the thread that ends the wait reads it.
    std::uint32_t const before = ended_.fetch_sub(elsewhere, std::memory_order_acq_rel);
    RUBATO_ASSERT_STEP(before <= elsewhere, "more members have ended than there were", before, elsewhere);
    return before != elsewhere;
  }
};

using group_state = basic_group_state<std_policy>;

} // namespace rubato::detail
