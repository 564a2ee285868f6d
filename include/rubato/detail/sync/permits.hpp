// A number of permits and the waiters for one: the common part of a lock and a semaphore.
// docs/design/async-sync.md
//
// The word: the number of free permits above two flags. `listed`: the list is not empty. `called`: a waiter
// was called and has neither retried nor abandoned. The flags change only under mutex_.
//
// Invariant: if a permit is free and the list is not empty, `called` is set; the called waiter takes a permit
// or passes the call on. Every change is a compare-exchange of the whole word. So of a giver and a waiter
// that race, one sees the other: add() sets `listed` only over a word without a free permit, and a giver adds
// a permit without the lock only if is_plain() holds for the word.
#pragma once

#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/base/policy.hpp"
#include "rubato/detail/sync/wait_list.hpp"

#include <cstdint>

namespace rubato::detail {

/// A waiter is called when a permit is free, and tries to take it; a running thread may be faster, once. Then
/// the waiter is handed the next permit.
template<class Policy>
class basic_permits {
  static constexpr std::uint64_t listed = 1, called = 2, one = 4; // free permits above the flags
  typename Policy::template atomic<std::uint64_t> word_;          // flags change only under the lock
  basic_mutex<Policy> mutex_;
  using wait_node = basic_wait_node<Policy>;
  using wait_chain = basic_wait_chain<Policy>;
  using claim = basic_claim<Policy>;
  basic_wait_list<Policy> waiting_; // guarded by mutex_

  /// True: no waiter is listed, or a called one serves the list. A giver just adds its permits.
  static constexpr bool is_plain(std::uint64_t now) noexcept {
    return (now & listed) == 0 || (now & called) != 0;
  }
  /// Exchanges the whole word or nothing: if a permit comes or goes in between, the caller decides anew.
  /// relaxed, as in settle_list(): the flags order nothing, since the list that they describe is under the
  /// lock.
  [[nodiscard]] bool change(std::uint64_t& from, std::uint64_t to) noexcept {
    return word_.compare_exchange_weak(from, to, std::memory_order_relaxed);
  }
  [[nodiscard]] bool take_from(std::uint64_t& now, std::uint64_t left) noexcept {
    // acquire: pairs with add_to(), because the taker reads what the giver wrote before.
    return word_.compare_exchange_weak(now, left, std::memory_order_acquire, std::memory_order_relaxed);
  }
  [[nodiscard]] bool add_to(std::uint64_t& now, std::uint64_t sum) noexcept {
    return word_.compare_exchange_weak(now, sum, std::memory_order_release, // pairs with take_from()
                                       std::memory_order_relaxed);
  }
  /// Under the lock, after a waiter has left the list.
  void settle_list() noexcept {
    if (waiting_.empty()) word_.fetch_and(~listed, std::memory_order_relaxed);
  }

public:
  static constexpr std::uint64_t most = ~std::uint64_t{0} / one;

  constexpr explicit basic_permits(std::uint64_t free) noexcept
      : word_(free * one) {}

  /// Takes a free permit. False: none is free.
  [[nodiscard]] bool try_take() noexcept {
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    while (now >= one)
      if (take_from(now, now - one)) return true;
    return false;
  }

  /// Adds n to the list. False: it has taken a free permit instead, or n has lost its race.
  [[nodiscard]] bool add(wait_node& n) noexcept {
    lock_guard const guard(mutex_);
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (now >= one) {
        claim c(n.entry());
        if (!c.is_open()) return false;
        if (take_from(now, now - one)) {
          c.decide();
          return false;
        }
      } else if (change(now, now | listed)) {
        break;
      }
    }
    waiting_.push(n);
    return true;
  }

  /// The called waiter n retries. True: it has a permit. False: it is at the head of the list again. Waiters
  /// that are called or served in turn are put into `next`, and the caller wakes them.
  [[nodiscard]] bool retry(wait_node& n, wait_chain& next) noexcept {
    lock_guard const guard(mutex_);
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (now < one) {
        if (!change(now, (now | listed) & ~called)) continue;
        waiting_.push_urgent(n);
        return false;
      }
      bool const calls = now >= 2 * one && !waiting_.empty();
      if (!take_from(now, (now - one) & ~(calls ? 0 : called))) continue;
      n.take();
      if (calls) pass_on(next);
      return true;
    }
  }

  /// For a called waiter that will not retry.
  void abandon(wait_chain& next) noexcept {
    lock_guard const guard(mutex_);
    pass_on(next);
  }

  /// False: n is not in the list.
  [[nodiscard]] bool remove(wait_node& n) noexcept {
    lock_guard const guard(mutex_);
    bool const removed = waiting_.remove(n);
    if (removed) settle_list();
    return removed;
  }

  /// Adds n permits if no waiter has to be told and no other thread changes the word: the common case of
  /// give().
  [[nodiscard]] bool try_give(std::uint64_t n, std::uint64_t limit) noexcept {
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    return is_plain(now) && now / one <= limit - n && add_to(now, now + n * one);
  }

  /// Adds n permits. Waiters that are called or get one are put into `taken`, and the caller wakes them.
  /// False: more than `limit` would be free.
  [[nodiscard]] bool give(std::uint64_t n, std::uint64_t limit, wait_chain& taken) noexcept {
    while (n != 0) {
      std::uint64_t now = word_.load(std::memory_order_relaxed);
      if (now / one > limit - n) return false;
      // Not under the lock: the thread that takes the last outstanding permit may destroy this at once.
      if (!is_plain(now))
        n = serve(n, limit, taken);
      else if (add_to(now, now + n * one))
        break;
    }
    return true;
  }

private:
  /// Gives permits to waiters, which keep this object alive. Returns the number left over.
  [[gnu::noinline]] std::uint64_t serve(std::uint64_t n, std::uint64_t limit, wait_chain& taken) noexcept {
    lock_guard const guard(mutex_);
    for (std::uint64_t now = word_.load(std::memory_order_relaxed);
         n != 0 && !is_plain(now) && now / one <= limit - n;) {
      if (wait_node& first = *waiting_.front(); first.entry().race != nullptr) {
        if (hand_over(first, taken)) --n;
        now = word_.load(std::memory_order_relaxed);
      } else if (first.is_urgent()) {
        taken.push(*waiting_.pop());
        settle_list();
        now = word_.load(std::memory_order_relaxed);
        --n;
      } else if (add_to(now, (now + n * one) | called)) {
        call_next(taken);
        return 0;
      }
    }
    return n;
  }
  /// Under the lock: hands one of the giver's permits to the first waiter, which is in a race. False: it has
  /// lost that race.
  [[nodiscard]] bool hand_over(wait_node& first, wait_chain& taken) noexcept {
    claim c({}, first.entry());
    bool const open = c.is_open();
    if (open) {
      c.decide();
      waiting_.take(first);
      taken.push(first);
    } else {
      waiting_.lose(first);
    }
    settle_list();
    return open;
  }
  /// Under the lock, for the called waiter, whose flag is still set: while a permit is free, calls the next
  /// waiter, or hands the permit over if that waiter is in a race.
  void pass_on(wait_chain& next) noexcept {
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (now < one || waiting_.empty()) {
        if (change(now, now & ~called)) return;
        continue;
      }
      wait_node& first = *waiting_.front();
      if (first.entry().race == nullptr) return call_next(next);
      claim c({}, first.entry());
      if (!c.is_open()) {
        waiting_.lose(first);
      } else if (take_from(now, now - one)) {
        c.decide();
        waiting_.take(first);
        next.push(first);
      }
      settle_list();
      now = word_.load(std::memory_order_relaxed);
    }
  }
  /// Under the lock, with the flag `called` set.
  void call_next(wait_chain& next) noexcept {
    next.push(waiting_.call());
    settle_list();
  }
};

using permits = basic_permits<std_policy>;

} // namespace rubato::detail
