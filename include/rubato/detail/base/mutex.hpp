// A one-word lock with three states, which sleeps in the kernel if contended.
//
// Source: U. Drepper, "Futexes are tricky", the third mutex.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"
#include "rubato/detail/base/thread_safety.hpp"

#include <cstdint>
#include <mutex>

namespace rubato::detail {

/// Lockable, as std::unique_lock needs. No user code runs under it.
template<class Policy>
class RUBATO_CAPABILITY basic_mutex {
  static constexpr std::uint32_t unlocked = 0, locked = 1, contended = 2;
  /// A thread that looks less often leaves the line to the owner, which often locks again at once: then two
  /// producers of a channel take turns of many values each. docs/design/tried.md
  static constexpr unsigned pauses_between_looks = Policy::spins < 8 ? Policy::spins : 8;
  typename Policy::template atomic<std::uint32_t> word_{unlocked};

  void lock_slow() noexcept RUBATO_NOT_ANALYSED { // returns with the lock
    for (unsigned spent = 0; spent < Policy::spins; spent += pauses_between_looks) {
      // relaxed: only to leave the line to its owner while it is locked.
      if (word_.load(std::memory_order_relaxed) == unlocked && try_lock()) return;
      for (unsigned i = 0; i != pauses_between_looks; ++i) Policy::pause();
    }
    // acquire: pairs with the exchange in unlock(), because the former owner's writes are the data that the
    // lock guards.
    while (word_.exchange(contended, std::memory_order_acquire) != unlocked)
      Policy::futex_wait(word_, contended);
  }

public:
  constexpr basic_mutex() noexcept = default;

  [[nodiscard]] bool try_lock() noexcept RUBATO_TRY_ACQUIRE(true) {
    std::uint32_t expected = unlocked;
    // acquire: pairs with the exchange in unlock().
    return word_.compare_exchange_strong(expected, locked, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  void lock() noexcept RUBATO_ACQUIRE() RUBATO_NOT_ANALYSED { // lock_slow() has it too
    if (!try_lock()) lock_slow();
  }

  /// Accesses the lock's memory with one exchange only: the next owner may destroy it right afterwards.
  void unlock() noexcept RUBATO_RELEASE() {
    // release: pairs with the acquires in lock() and try_lock(), because the next owner reads the guarded
    // data.
    std::uint32_t const before = word_.exchange(unlocked, std::memory_order_release);
    RUBATO_ASSERT_STEP(before != unlocked, "a lock is unlocked that no thread holds", before);
    if (before == contended) Policy::futex_wake(word_, 1);
  }
};

using mutex = basic_mutex<std_policy>;

/// std::lock_guard, which Clang's analysis does not know in every standard library.
template<class Mutex>
class RUBATO_SCOPED_CAPABILITY lock_guard {
  Mutex& mutex_;

public:
  explicit lock_guard(Mutex& m) noexcept RUBATO_ACQUIRE(m)
      : mutex_(m) {
    m.lock();
  }
  /// The caller has locked it.
  lock_guard(Mutex& m, std::adopt_lock_t /*locked*/) noexcept RUBATO_REQUIRES(m)
      : mutex_(m) {}
  lock_guard(lock_guard const&) = delete;
  lock_guard& operator=(lock_guard const&) = delete;
  ~lock_guard() RUBATO_RELEASE() { mutex_.unlock(); }
};

} // namespace rubato::detail
