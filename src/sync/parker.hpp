// Where one thread sleeps until another wakes it. docs/design/parking.md
//
// States: none; notified, a wake has come; parked, the owner sleeps here; polling, it sleeps among the
// kernel's events (event_key.hpp). The owner leaves `none` by a compare-exchange and comes back by an
// exchange; a waker exchanges `notified`, and what it finds says how to end the sleep.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/deadline.hpp"
#include "rubato/detail/base/policy.hpp"

#include <chrono>

namespace rubato::detail {

/// A binary semaphore with one waiter. A wake before the sleep is remembered; two are one. The waiter
/// rechecks what it waits for after every return, so a stale wake does no harm.
template<class Policy>
class basic_parker {
  static constexpr std::uint32_t none = 0, notified = 1, parked = 2, polling = 3;
  typename Policy::template atomic<std::uint32_t> word_{none};

  /// Out of line: most wakes find no sleeper. The parker may be gone: only its address is used.
  [[gnu::noinline]] void end_sleep(std::uint32_t before) noexcept {
    Policy::note_parking(parking::woken, this);
    if (before == parked)
      Policy::futex_wake(word_, 1);
    else
      Policy::poke();
  }

public:
  /// For the owner: sleeps until unpark() has been called since the last return.
  void park() noexcept {
    std::uint32_t expected = none;
    // acquire on failure: pairs with unpark(), because what the waker did before is what the waiter waits
    // for. On success it is not needed, but g++ wants it no weaker.
    if (word_.compare_exchange_strong(expected, parked, std::memory_order_acquire,
                                      std::memory_order_acquire)) {
      Policy::note_parking(parking::sleeps, this);
      do Policy::futex_wait(word_, parked);
      while (word_.load(std::memory_order_acquire) == parked); // acquire: as above
      Policy::note_parking(parking::has_slept, this);
    }
    // acquire: pairs with a second unpark(), whose notification is swallowed here.
    std::uint32_t const before = word_.exchange(none, std::memory_order_acquire);
    RUBATO_ASSERT(before == notified, "another thread sleeps at this parker", before, expected);
  }

  /// The same, until the deadline at the latest; max(): without limit. True: unpark() has been called.
  bool park_until(std::chrono::steady_clock::time_point deadline) noexcept {
    if (deadline == std::chrono::steady_clock::time_point::max()) {
      park();
      return true;
    }
    std::uint32_t expected = none;
    if (word_.compare_exchange_strong(expected, parked, std::memory_order_acquire, // as in park()
                                      std::memory_order_acquire)) {
      Policy::note_parking(parking::sleeps, this);
      while (word_.load(std::memory_order_acquire) == parked &&
             Policy::futex_wait_until(word_, parked, deadline)) {
      }
      Policy::note_parking(parking::has_slept, this);
    }
    std::uint32_t const before = word_.exchange(none, std::memory_order_acquire); // acquire: as in park()
    RUBATO_ASSERT(before == notified || (before == parked && expected == none),
                  "another thread sleeps at this parker", before, expected);
    return before == notified;
  }

  /// The same, but the owner sleeps elsewhere: `sleep()` returns when Policy::poke() has been called, or
  /// earlier. Not called if unpark() has been called since the last return.
  template<class Sleep>
  void poll(Sleep sleep) noexcept {
    std::uint32_t expected = none;
    // release: pairs with unpark(), because a poke reaches a thread that looks at what the owner did before.
    // The exchange below acquires what the waker did.
    if (word_.compare_exchange_strong(expected, polling, std::memory_order_release,
                                      std::memory_order_relaxed)) {
      Policy::note_parking(parking::polls, this);
      sleep();
      Policy::note_parking(parking::has_slept, this);
    }
    std::uint32_t const before = word_.exchange(none, std::memory_order_acquire); // acquire: as in park()
    RUBATO_ASSERT(before == notified || (before == polling && expected == none),
                  "another thread sleeps at this parker", before, expected);
  }

  /// unpark() has been called since the last return, so that a sleep would end at once. A hint.
  [[nodiscard]] bool is_notified() const noexcept {
    return word_.load(std::memory_order_relaxed) == notified;
  }
  /// Asleep, and no thread has called unpark() since. A hint: the caller looks again.
  [[nodiscard]] bool sleeps() const noexcept { return word_.load(std::memory_order_relaxed) >= parked; }
  /// The same, among the kernel's events.
  [[nodiscard]] bool polls() const noexcept { return word_.load(std::memory_order_relaxed) == polling; }

  /// From any thread.
  void unpark() noexcept {
    // acq_rel: release pairs with park(); acquire, so that wakers are ordered among themselves and the last
    // one's notification carries the effects of the notifications that it replaced.
    std::uint32_t const before = word_.exchange(notified, std::memory_order_acq_rel);
    RUBATO_ASSERT(before <= polling, "a thread is woken whose parker is gone", before);
    if (before >= parked) end_sleep(before);
  }
};

using parker = basic_parker<std_policy>;

} // namespace rubato::detail
