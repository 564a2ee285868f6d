// A number of permits and the waiters for them: the common part of a lock and a semaphore.
// docs/design/async-sync.md
//
// The word: the number of free permits above two flags. `listed`: the list is not empty. `called`: a waiter
// was called and has neither retried nor abandoned. The flags change only under mutex_.
//
// Invariants: if a permit is free and the list is not empty, `called` is set; the called waiter takes a
// permit or passes the call on. Only the first waiter of the list holds permits, fewer than it needs, and
// only while `called` is not set. Every change is a compare-exchange of the whole word. So of a giver and a
// waiter that race, one sees the other: add() sets `listed` only over a word without a free permit, or takes
// those that are free, and a giver adds permits without the lock only if is_plain() holds for the word.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/base/policy.hpp"
#include "rubato/detail/sync/wait_list.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace rubato::detail {

/// How waiters for one permit are served: each is called when a permit is free, and a running thread may be
/// faster, once; or each is handed its permit in its turn.
enum class permit_order : bool { by_call, by_turn };

/// How many permits a waiter needs. The lock of the permits guards what it holds.
class permit_demand {
  std::uint64_t const needed_;
  std::uint64_t held_ = 0; ///< handed to it so far, while it is listed
  permit_order const order_;

public:
  explicit permit_demand(std::uint64_t needed = 1, permit_order o = permit_order::by_call) noexcept
      : needed_(needed)
      , order_(o) {}

  [[nodiscard]] permit_order order() const noexcept { return order_; }

  [[nodiscard]] std::uint64_t needed() const noexcept { return needed_; }
  [[nodiscard]] std::uint64_t missing() const noexcept { return needed_ - held_; }
  void hold(std::uint64_t n) noexcept { held_ += n; }
  /// It leaves the list without what it needs. Returns what it held.
  [[nodiscard]] std::uint64_t drop() noexcept { return std::exchange(held_, 0); }
};

/// A waiter for one permit is called when a permit is free, and tries to take it; a running thread may be
/// faster, once. Then the waiter is handed the next permit. A waiter for several permits, or one that is to
/// be served by turn, is handed each that is given while it is the first. Node: a basic_wait_node that is a
/// permit_demand, too.
template<class Policy, class Node>
class basic_permits {
  static constexpr std::uint64_t listed = 1, called = 2, one = 4; // free permits above the flags
  typename Policy::template atomic<std::uint64_t> word_;          // flags change only under the lock
  basic_mutex<Policy> mutex_;
  using wait_chain = basic_wait_chain<Policy>;
  using claim = basic_claim<Policy>;
  basic_wait_list<Policy> waiting_; // of Nodes; guarded by mutex_

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

  /// Takes n free permits. False: fewer are free.
  [[nodiscard]] bool try_take(std::uint64_t n = 1) noexcept {
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    while (now / one >= n)
      if (take_from(now, now - n * one)) return true;
    return false;
  }

  /// Adds n to the list. False: it has taken free permits instead, or n has lost its race.
  [[nodiscard]] bool add(Node& n) noexcept {
    RUBATO_ASSERT_STEP(n.missing() == n.needed(), "a waiter holds permits before it is listed", n.missing(),
                       n.needed());
    lock_guard const guard(mutex_);
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (now / one >= n.needed()) {
        claim c(n.entry());
        if (!c.is_open()) return false;
        if (take_from(now, now - n.needed() * one)) {
          c.decide();
          return false;
        }
      } else if (now < one || (now & called) != 0) {
        if (change(now, now | listed)) break;
      } else if (std::uint64_t const some = now / one; take_from(now, listed)) {
        RUBATO_ASSERT_STEP(waiting_.empty(), "permits are free beside a waiter, and none is called", now);
        n.hold(some); // the list is empty: it is the first
        break;
      }
    }
    waiting_.push(n);
    return true;
  }

  /// The called waiter n retries. True: it has a permit. False: it is at the head of the list again. Waiters
  /// that are called or served in turn are put into `next`, and the caller wakes them.
  [[nodiscard]] bool retry(Node& n, wait_chain& next) noexcept {
    lock_guard const guard(mutex_);
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    RUBATO_ASSERT_STEP(n.was_called() && (now & called) != 0, "a waiter retries that was not called", now);
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

  /// False: n is not in the list. What it held goes to the waiters behind it, as in give().
  [[nodiscard]] bool remove(Node& n, wait_chain& next) noexcept {
    std::uint64_t held = 0;
    {
      lock_guard const guard(mutex_);
      if (!waiting_.remove(n)) return false;
      RUBATO_ASSERT_STEP(n.missing() != 0, "a waiter is listed that has its permits", n.needed());
      settle_list();
      held = n.drop();
    }
    static_cast<void>(give(held, most, next));
    return true;
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
  /// It is called when a permit is free, instead of being handed one.
  [[nodiscard]] static bool is_called_first(Node const& n) noexcept {
    return n.needed() == 1 && n.order() == permit_order::by_call && n.entry().race == nullptr &&
           !n.is_urgent();
  }
  /// Under the lock; the list is not empty.
  [[nodiscard]] Node& first() noexcept {
    RUBATO_ASSERT_STEP(!waiting_.empty(), "the word tells of a waiter, and none is listed",
                       word_.load(std::memory_order_relaxed));
    return static_cast<Node&>(*waiting_.front());
  }
  /// Gives permits to waiters, which keep this object alive. Returns the number left over.
  [[gnu::noinline]] std::uint64_t serve(std::uint64_t n, std::uint64_t limit, wait_chain& taken) noexcept {
    lock_guard const guard(mutex_);
    for (std::uint64_t now = word_.load(std::memory_order_relaxed);
         n != 0 && !is_plain(now) && now / one <= limit - n;) {
      if (!is_called_first(first())) {
        claim c({}, first().entry());
        if (c.is_open())
          n -= hand_over(c, n, taken);
        else
          n += lose_first();
        now = word_.load(std::memory_order_relaxed);
      } else if (add_to(now, (now + n * one) | called)) {
        call_next(taken);
        return 0;
      }
    }
    return n;
  }
  /// Under the lock and an open claim for the first waiter: gives it those of n permits that it misses.
  /// Returns their number.
  [[nodiscard]] std::uint64_t hand_over(claim& c, std::uint64_t n, wait_chain& taken) noexcept {
    Node& to = first();
    std::uint64_t const given = std::min(n, to.missing());
    RUBATO_ASSERT_STEP(given != 0, "a waiter is listed that has its permits", n, to.needed());
    to.hold(given);
    if (to.missing() != 0) return given;
    c.decide();
    waiting_.take(to);
    settle_list();
    taken.push(to);
    return given;
  }
  /// Under the lock: the first waiter has lost its race. Returns what it held.
  [[nodiscard]] std::uint64_t lose_first() noexcept {
    Node& lost = first();
    waiting_.lose(lost);
    settle_list();
    return lost.drop();
  }
  /// Under the lock, for the called waiter, whose flag is still set: while a permit is free, calls the next
  /// waiter, or hands it permits if it is in a race or needs several.
  void pass_on(wait_chain& next) noexcept {
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    for (;;) {
      RUBATO_ASSERT_STEP((now & called) != 0, "a call is passed on that was not made", now);
      if (now < one || waiting_.empty()) {
        if (change(now, now & ~called)) return;
        continue;
      }
      if (is_called_first(first())) return call_next(next);
      claim c({}, first().entry());
      if (!c.is_open()) {
        std::uint64_t const held = lose_first();
        now = word_.load(std::memory_order_relaxed);
        while (held != 0 && !add_to(now, now + held * one)) {
        }
      } else if (std::uint64_t const n = std::min(now / one, first().missing());
                 take_from(now, now - n * one)) {
        static_cast<void>(hand_over(c, n, next));
      }
      now = word_.load(std::memory_order_relaxed);
    }
  }
  /// Under the lock, with the flag `called` set.
  void call_next(wait_chain& next) noexcept {
    RUBATO_ASSERT(first().missing() == 1, "a waiter that is handed its permits was called",
                  first().missing());
    next.push(waiting_.call());
    settle_list();
  }
};

} // namespace rubato::detail
