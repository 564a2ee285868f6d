// A pointer through which other threads read while its owner may clear it. docs/design/coroutines.md
//
// States: null; set; set and pinned, while one reader runs use(). Invariant: the owner clears only an
// unpinned pointer, so the object lives until the reader has returned from its function.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/brief_wait.hpp"
#include "rubato/detail/base/policy.hpp"

#include <cstdint>

namespace rubato::detail {

/// A pointer that its owner, one thread at a time, sets and clears. Other threads read the object with use();
/// clear() waits for them. So the function passed to use() must be short, and must not clear a pinned_ptr
/// itself.
template<class Policy, class T>
class basic_pinned_ptr {
  static constexpr std::uintptr_t pinned = 1; // the lowest bit of the address
  typename Policy::template atomic<std::uintptr_t> word_{0};

  [[nodiscard]] static T* pointer(std::uintptr_t word) noexcept { return reinterpret_cast<T*>(word); }
  /// Waits while a reader runs use(). relaxed: the caller's compare-exchange acquires.
  void await_reader() const noexcept {
    wait_briefly<Policy>([this] { return (word_.load(std::memory_order_relaxed) & pinned) == 0; });
  }

public:
  /// For the owner, when it is null.
  void set(T& t) noexcept {
    RUBATO_ASSERT_STEP(get() == nullptr, "a pointer is set that was not cleared", get(), &t);
    // release: pairs with use(), because the reader reads the object next.
    word_.store(reinterpret_cast<std::uintptr_t>(&t), std::memory_order_release);
  }
  /// The same for an owner that looks next whether another thread has changed something for which it wants to
  /// find this pointer. seq_cst: pairs with use() by a thread that has made such a change (seq_cst) before.
  /// One of the two sees the other.
  void link(T& t) noexcept {
    RUBATO_ASSERT_STEP(get() == nullptr, "a pointer is set that was not cleared", get(), &t);
    word_.store(reinterpret_cast<std::uintptr_t>(&t), std::memory_order_seq_cst);
  }
  /// For the owner.
  [[nodiscard]] T* get() const noexcept {
    return pointer(word_.load(std::memory_order_relaxed) & ~pinned); // relaxed: the owner's store
  }
  /// For the owner: clears it and returns the old pointer. No reader uses the object any more.
  T* clear() noexcept {
    for (;;) {
      std::uintptr_t word = word_.load(std::memory_order_relaxed) & ~pinned;
      if (word == 0) return nullptr;
      // acquire: pairs with the release in use(), because the owner may destroy what f has used.
      if (word_.compare_exchange_strong(word, 0, std::memory_order_acquire, std::memory_order_relaxed))
        return pointer(word);
      await_reader();
    }
  }
  /// For any thread that keeps this pinned_ptr alive: returns f(object), or a default value if it is null.
  template<class F>
  [[nodiscard]] auto use(F f) noexcept -> decltype(f(*pointer(0))) {
    for (;;) {
      std::uintptr_t word = word_.load(std::memory_order_seq_cst) & ~pinned; // pairs with link()
      if (word == 0) return {};
      // acquire: pairs with set(), and with the release of another use(), because f reads the object.
      if (word_.compare_exchange_strong(word, word | pinned, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
        auto const seen = f(*pointer(word));
        word_.store(word, std::memory_order_release); // pairs with clear() and the next use()
        return seen;
      }
      await_reader();
    }
  }
};

template<class T>
using pinned_ptr = basic_pinned_ptr<std_policy, T>;

} // namespace rubato::detail
