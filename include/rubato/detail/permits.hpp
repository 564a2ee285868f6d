// A number of permits, and who waits for one: what a lock and a semaphore have in common.
// docs/design/async-sync.md
#pragma once

#include "rubato/detail/mutex.hpp"
#include "rubato/detail/policy.hpp"
#include "rubato/detail/wait_list.hpp"

#include <cstdint>
#include <mutex>

namespace rubato::detail {

/// Whoever waits is called when a permit is free, and tries to take it; those who run may be faster, once.
/// Then it is handed the next.
template<class Policy>
class basic_permits {
  static constexpr std::uint64_t listed = 1, called = 2, one = 4; // free permits above the flags
  typename Policy::template atomic<std::uint64_t> word_;          // flags change under the lock alone
  basic_mutex<Policy> mutex_;
  using wait_node = basic_wait_node<Policy>;
  using wait_chain = basic_wait_chain<Policy>;
  using claim = basic_claim<Policy>;
  basic_wait_list<Policy> waiting_; // guarded by mutex_

  /// Somebody else sees to those who wait, if anybody does.
  static constexpr bool is_plain(std::uint64_t now) noexcept {
    return (now & listed) == 0 || (now & called) != 0;
  }
  /// Exchanges the whole word or nothing: a permit that comes or goes in between changes what is to be done.
  /// relaxed, as in settle_list(): the flags order nothing, what goes with them is under the lock.
  [[nodiscard]] bool change(std::uint64_t& from, std::uint64_t to) noexcept {
    return word_.compare_exchange_weak(from, to, std::memory_order_relaxed);
  }
  [[nodiscard]] bool take_from(std::uint64_t& now, std::uint64_t left) noexcept {
    // acquire: pairs with whoever gave it, because what that one did before is what the permit stands for.
    return word_.compare_exchange_weak(now, left, std::memory_order_acquire, std::memory_order_relaxed);
  }
  [[nodiscard]] bool add_to(std::uint64_t& now, std::uint64_t sum) noexcept {
    return word_.compare_exchange_weak(now, sum, std::memory_order_release, // pairs with take_from()
                                       std::memory_order_relaxed);
  }
  /// Under the lock, after somebody left the list.
  void settle_list() noexcept {
    if (waiting_.empty()) word_.fetch_and(~listed, std::memory_order_relaxed);
  }

public:
  static constexpr std::uint64_t most = ~std::uint64_t{0} / one;

  constexpr explicit basic_permits(std::uint64_t free) noexcept
      : word_(free * one) {}

  /// Takes one that is free.
  [[nodiscard]] bool try_take() noexcept {
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    while (now >= one)
      if (take_from(now, now - one)) return true;
    return false;
  }

  /// Waits for one. False: it was free, and is taken; or n has lost its race.
  [[nodiscard]] bool add(wait_node& n) noexcept {
    std::lock_guard const guard(mutex_);
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

  /// It was called. True: it has got one. False: it waits again, before all others. Who is called in its turn
  /// is put into `next`, and is to be told.
  [[nodiscard]] bool retry(wait_node& n, wait_chain& next) noexcept {
    std::lock_guard const guard(mutex_);
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

  /// It was called, and will not come.
  void abandon(wait_chain& next) noexcept {
    std::lock_guard const guard(mutex_);
    pass_on(next);
  }

  /// False: it does not wait, or not any more.
  [[nodiscard]] bool remove(wait_node& n) noexcept {
    std::lock_guard const guard(mutex_);
    bool const removed = waiting_.remove(n);
    if (removed) settle_list();
    return removed;
  }

  /// n more, if nobody else has to be told and nobody else changes the number. What give() does most often.
  [[nodiscard]] bool try_give(std::uint64_t n, std::uint64_t limit) noexcept {
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    return is_plain(now) && now / one <= limit - n && add_to(now, now + n * one);
  }

  /// n more. Those who are called or get one are put into `taken`, and are to be told. False: more than
  /// `limit` would be free.
  [[nodiscard]] bool give(std::uint64_t n, std::uint64_t limit, wait_chain& taken) noexcept {
    while (n != 0) {
      std::uint64_t now = word_.load(std::memory_order_relaxed);
      if (now / one > limit - n) return false;
      // Not under the lock: who takes the last permit that was to come may destroy this at once.
      if (!is_plain(now))
        n = serve(n, limit, taken);
      else if (add_to(now, now + n * one))
        break;
    }
    return true;
  }

private:
  /// Gives to those who wait, who keep this from being destroyed. What is left over.
  [[gnu::noinline]] std::uint64_t serve(std::uint64_t n, std::uint64_t limit, wait_chain& taken) noexcept {
    std::lock_guard const guard(mutex_);
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
  /// Under the lock: a permit of the giver's goes to the first in the list, which is in a race. False: it has
  /// lost that.
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
  /// Under the lock, for the one that was called, whose flag is still set: as long as a permit is free, calls
  /// the next, or hands it over, if the next is in a race.
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
  /// Under the lock; the flag says so already.
  void call_next(wait_chain& next) noexcept {
    next.push(waiting_.call());
    settle_list();
  }
};

using permits = basic_permits<std_policy>;

} // namespace rubato::detail
