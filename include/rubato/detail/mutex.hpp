// A small lock that sleeps in the kernel when it has to: one word, three states.
//
// Source: U. Drepper, "Futexes are tricky", the third mutex.
#pragma once

#include "rubato/detail/policy.hpp"

namespace rubato::detail {

/// Lockable (std::lock_guard and friends work with it). Never held while user code runs.
template<class Policy>
class basic_mutex {
  static constexpr std::uint32_t unlocked = 0, locked = 1, contended = 2;
  typename Policy::template atomic<std::uint32_t> word_{unlocked};

  void lock_slow() noexcept {
    for (unsigned i = 0; i != Policy::spins; ++i) {
      if (try_lock()) return;
      Policy::pause();
    }
    // acquire: pairs with the exchange in unlock(), because the former owner's writes are what the lock
    // guards.
    while (word_.exchange(contended, std::memory_order_acquire) != unlocked)
      Policy::futex_wait(word_, contended);
  }

public:
  constexpr basic_mutex() noexcept = default;
  basic_mutex(basic_mutex const&) = delete;
  basic_mutex& operator=(basic_mutex const&) = delete;

  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t expected = unlocked;
    // acquire: pairs with the exchange in unlock().
    return word_.compare_exchange_strong(expected, locked, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  void lock() noexcept {
    if (!try_lock()) lock_slow();
  }

  /// Touches the lock's memory with one exchange only: the next owner may destroy it right afterwards.
  void unlock() noexcept {
    // release: pairs with the acquiring operations above.
    if (word_.exchange(unlocked, std::memory_order_release) == contended) Policy::futex_wake(word_, 1);
  }
};

using mutex = basic_mutex<std_policy>;

} // namespace rubato::detail
