// What others look at while its owner may let go of it. docs/design/coroutines.md
#pragma once

#include "rubato/detail/policy.hpp"

#include <cstdint>

namespace rubato::detail {

/// A pointer that one thread at a time sets and clears, its owner. Others look through it: what it points to
/// stays until they have, since clear() waits for them. So they must be quick, and not clear one themselves.
template<class Policy, class T>
class basic_watched {
  static constexpr std::uintptr_t looked_at = 1; // the lowest bit of the address
  typename Policy::template atomic<std::uintptr_t> word_{0};

  [[nodiscard]] static T* pointer(std::uintptr_t word) noexcept { return reinterpret_cast<T*>(word); }

public:
  /// By the owner, when it is null.
  void set(T& t) noexcept {
    // release: pairs with look(), because what it points to was written before.
    word_.store(reinterpret_cast<std::uintptr_t>(&t), std::memory_order_release);
  }
  /// By the owner.
  [[nodiscard]] T* get() const noexcept {
    return pointer(word_.load(std::memory_order_relaxed) & ~looked_at); // relaxed: its own
  }
  /// By the owner: what it was. Nobody looks at that any more.
  T* clear() noexcept {
    for (;;) {
      std::uintptr_t word = word_.load(std::memory_order_relaxed) & ~looked_at;
      if (word == 0) return nullptr;
      // acquire: pairs with the end of look(), because what was done there comes before what the owner does.
      if (word_.compare_exchange_strong(word, 0, std::memory_order_acquire, std::memory_order_relaxed))
        return pointer(word);
      Policy::pause();
    }
  }
  /// By anybody who keeps this object alive: f of what it points to; if that is nothing, nothing.
  template<class F>
  [[nodiscard]] auto look(F f) noexcept -> decltype(f(*pointer(0))) {
    for (;;) {
      std::uintptr_t word = word_.load(std::memory_order_relaxed) & ~looked_at;
      if (word == 0) return {};
      // acquire: pairs with set(), and with the end of another look().
      if (word_.compare_exchange_strong(word, word | looked_at, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
        auto const seen = f(*pointer(word));
        word_.store(word, std::memory_order_release); // pairs with clear()
        return seen;
      }
      Policy::pause();
    }
  }
};

template<class T>
using watched = basic_watched<std_policy, T>;

} // namespace rubato::detail
