// A number of permits, and who waits for one: what a lock and a semaphore have in common.
// docs/design/async-sync.md
#pragma once

#include "rubato/detail/mutex.hpp"
#include "rubato/detail/policy.hpp"
#include "rubato/detail/wait_list.hpp"

#include <cstdint>
#include <mutex>

namespace rubato::detail {

/// The word says how many permits are free, or that somebody waits; then none is free, and what is given goes
/// to those who wait. Only under the lock does it begin or cease to say that.
template<class Policy>
class basic_permits {
  static constexpr std::int64_t awaited = -1;
  typename Policy::template atomic<std::int64_t> word_;
  basic_mutex<Policy> mutex_;
  wait_list waiting_; // guarded by mutex_

  /// Gives to those who wait. What is left over.
  [[gnu::noinline]] std::int64_t serve(std::int64_t n, wait_chain& taken) noexcept {
    std::lock_guard const guard(mutex_);
    for (; n != 0 && !waiting_.empty(); --n) taken.push(*waiting_.pop());
    // A waiter that was removed has left this to us. relaxed: it gives nothing.
    if (waiting_.empty() && word_.load(std::memory_order_relaxed) == awaited)
      word_.store(0, std::memory_order_relaxed);
    return n;
  }

public:
  constexpr explicit basic_permits(std::int64_t free) noexcept
      : word_(free) {}

  /// Takes one that is free.
  [[nodiscard]] bool try_take() noexcept {
    std::int64_t now = word_.load(std::memory_order_relaxed);
    while (now > 0)
      // acquire: pairs with give(), because what its caller did before is what the permit stands for.
      if (word_.compare_exchange_weak(now, now - 1, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    return false;
  }

  /// Waits for one. False: it was free, and is taken.
  [[nodiscard]] bool add(wait_node& n) noexcept {
    std::lock_guard const guard(mutex_);
    for (std::int64_t now = word_.load(std::memory_order_relaxed); now != awaited;) {
      if (now > 0) { // acquire: as in try_take()
        if (word_.compare_exchange_weak(now, now - 1, std::memory_order_acquire, std::memory_order_relaxed))
          return false;
      } else if (word_.compare_exchange_weak(now, awaited, std::memory_order_relaxed)) {
        break; // relaxed: whoever reads it takes the lock
      }
    }
    waiting_.push(n);
    return true;
  }

  /// False: it does not wait, or not any more.
  [[nodiscard]] bool remove(wait_node& n) noexcept {
    std::lock_guard const guard(mutex_);
    return waiting_.remove(n);
  }

  /// n more. Those who get one are put into `taken`, and are to be told. False: more than `most` would be
  /// free.
  [[nodiscard]] bool give(std::int64_t n, std::int64_t most, wait_chain& taken) noexcept {
    for (std::int64_t now = word_.load(std::memory_order_relaxed); n != 0;) {
      if (now == awaited) {
        n = serve(n, taken);
        if (n != 0) now = word_.load(std::memory_order_relaxed);
      } else {
        if (now > most - n) return false;
        // release: pairs with try_take() and add().
        if (word_.compare_exchange_weak(now, now + n, std::memory_order_release, std::memory_order_relaxed))
          break;
      }
    }
    return true;
  }
};

using permits = basic_permits<std_policy>;

} // namespace rubato::detail
