// A one-word lock with three states, which sleeps in the kernel if contended.
//
// Source: U. Drepper, "Futexes are tricky", the third mutex.
#pragma once

#include "rubato/detail/base/policy.hpp"

namespace rubato::detail {

/// Lockable, as std::lock_guard needs. No user code runs under it.
template<class Policy>
class basic_mutex {
  static constexpr std::uint32_t unlocked = 0, locked = 1, contended = 2;
  typename Policy::template atomic<std::uint32_t> word_{unlocked};

  void lock_slow() noexcept {
    for (unsigned i = 0; i != Policy::spins; ++i) {
      if (try_lock()) return;
      Policy::pause();
    }
    // acquire: pairs with the exchange in unlock(), because the former owner's writes are the data that the
    // lock guards.
    while (word_.exchange(contended, std::memory_order_acquire) != unlocked)
      Policy::futex_wait(word_, contended);
  }

public:
  constexpr basic_mutex() noexcept = default;

  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t expected = unlocked;
    // acquire: pairs with the exchange in unlock().
    return word_.compare_exchange_strong(expected, locked, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  void lock() noexcept {
    if (!try_lock()) lock_slow();
  }

  /// Accesses the lock's memory with one exchange only: the next owner may destroy it right afterwards.
  void unlock() noexcept {
    // release: pairs with the acquires in lock() and try_lock(), because the next owner reads the guarded
    // data.
    if (word_.exchange(unlocked, std::memory_order_release) == contended) Policy::futex_wake(word_, 1);
  }
};

using mutex = basic_mutex<std_policy>;

} // namespace rubato::detail
