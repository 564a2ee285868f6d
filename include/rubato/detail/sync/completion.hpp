// The waiters for a result: a list in one word, closed when the result is ready. docs/design/futures.md
//
// States of the word: the address of the newest waiter, or 0, while the list is open; the same with the
// lowest bit set while remove() holds the list locked; `done` once it is closed, for ever.
//
// Invariant: every waiter that add() accepts is delivered once, by close() or to the caller of remove().
// add(), close() and remove() change the word by compare-exchange from an unlocked value, so one of two that
// race sees the other's change and tries again.
//
// Ordering: the producer writes the result before close() (release); closed(), and add() through read(),
// acquire. So a thread that sees `done` sees the result.
//
// Source: R. K. Treiber, "Systems programming: coping with parallelism" (the list).
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/brief_wait.hpp"
#include "rubato/detail/base/policy.hpp"

#include <cstdint>

namespace rubato::detail {

template<class Policy>
class basic_completion {
public:
  struct waiter {
    waiter* next = nullptr;     ///< while it is in the list: the next older waiter
    waiter* previous = nullptr; ///< the next newer waiter, once a remove() has linked back
  };

private:
  static constexpr std::uintptr_t locked = 1, done = 2; // the lowest bit; a value that is no address
  typename Policy::template atomic<std::uintptr_t> word_{0};

  [[nodiscard]] static waiter* first(std::uintptr_t word) noexcept {
    return reinterpret_cast<waiter*>(word & ~locked);
  }

  /// Waits until the word is unlocked, and returns it.
  [[nodiscard]] std::uintptr_t read() const noexcept {
    std::uintptr_t word = 0;
    // acquire: pairs with close() and remove(), because the result or the links are read next.
    while (((word = word_.load(std::memory_order_acquire)) & locked) != 0)
      // relaxed: the load above acquires.
      wait_briefly<Policy>([this] { return (word_.load(std::memory_order_relaxed) & locked) == 0; });
    return word;
  }

public:
  constexpr basic_completion() noexcept = default;

  /// acquire: pairs with close(), because the result is read next.
  [[nodiscard]] bool closed() const noexcept { return word_.load(std::memory_order_acquire) == done; }

  /// False: the result is ready. True: close() will deliver the waiter, unless remove() takes it out.
  [[nodiscard]] bool add(waiter& w) noexcept {
    RUBATO_ASSERT_STEP(w.previous == nullptr, "a waiter is added that is in a list", &w, w.previous);
    for (std::uintptr_t word = read();; word = read()) {
      if (word == done) return false;
      RUBATO_ASSERT_STEP(first(word) != &w, "a waiter is added twice", word);
      w.next = first(word);
      // release: pairs with close() and remove(), because they read the waiter's link. acquire: pairs with
      // remove(), because a stop request that did not find the waiter comes before (suspension.hpp).
      if (word_.compare_exchange_weak(word, reinterpret_cast<std::uintptr_t>(&w), std::memory_order_acq_rel,
                                      std::memory_order_relaxed))
        return true;
    }
  }

  /// The result is ready: returns the waiters, oldest first. Called once.
  [[nodiscard]] waiter* close() noexcept {
    std::uintptr_t word = read();
    // release: pairs with closed() and read(), because a thread that sees `done` reads the result. acquire:
    // pairs with add(), because the links are read next.
    while (!word_.compare_exchange_weak(word, done, std::memory_order_acq_rel, std::memory_order_relaxed))
      word = read();
    RUBATO_ASSERT_STEP(word != done && (word & locked) == 0, "a result has become ready twice", word);
    waiter* oldest = nullptr;
    for (waiter* w = first(word); w != nullptr;) {
      waiter* const next = w->next;
      w->next = oldest;
      oldest = w;
      w = next;
    }
    return oldest;
  }

  /// True: the waiter is out of the list. False: close() has it, or it was not in the list. Amortised O(1).
  [[nodiscard]] bool remove(waiter& w) noexcept {
    std::uintptr_t word = 0;
    do {
      word = read();
      if (word == done) return false;
      // acquire: pairs with other threads' add(), because their links are read next.
    } while (!word_.compare_exchange_weak(word, word | locked, std::memory_order_acquire,
                                          std::memory_order_relaxed));
    // Link back the waiters added since the last removal: all but the newest are then linked both ways.
    for (waiter* n = first(word); n != nullptr && n->next != nullptr && n->next->previous != n; n = n->next)
      n->next->previous = n;
    bool const newest = first(word) == &w;
    bool const found = newest || w.previous != nullptr;
    if (found) {
      RUBATO_ASSERT_STEP((newest || w.previous->next == &w) && (w.next == nullptr || w.next->previous == &w),
                         "a waiter is removed that its neighbours do not know", &w, w.previous, w.next);
      if (w.next != nullptr) w.next->previous = w.previous;
      if (newest)
        word = reinterpret_cast<std::uintptr_t>(w.next);
      else
        w.previous->next = w.next;
      w.previous = nullptr;
    }
    word_.store(word, std::memory_order_release); // pairs with read(): the links
    return found;
  }
};

using completion = basic_completion<std_policy>;

} // namespace rubato::detail
