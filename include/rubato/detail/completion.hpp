// Who waits for a result: a list in one word, closed when the result is there. docs/design/futures.md
//
// Source: R. K. Treiber, "Systems programming: coping with parallelism" (the list).
#pragma once

#include "rubato/detail/policy.hpp"

#include <cstdint>

namespace rubato::detail {

template<class Policy>
class basic_completion {
public:
  struct waiter {
    waiter* next = nullptr;     ///< the list's, while it waits: who came before
    waiter* previous = nullptr; ///< who came after, once remove() has been by
  };

private:
  static constexpr std::uintptr_t locked = 1, done = 2; // the lowest bit; a word that is no address
  typename Policy::template atomic<std::uintptr_t> word_{0};

  [[nodiscard]] static waiter* first(std::uintptr_t word) noexcept {
    return reinterpret_cast<waiter*>(word & ~locked);
  }

  /// The word, once nobody holds it locked.
  [[nodiscard]] std::uintptr_t read() const noexcept {
    std::uintptr_t word = 0;
    // acquire: pairs with close() and with remove(), because what they wrote before is read next.
    while (((word = word_.load(std::memory_order_acquire)) & locked) != 0) Policy::pause();
    return word;
  }

public:
  constexpr basic_completion() noexcept = default;
  basic_completion(basic_completion const&) = delete;
  basic_completion& operator=(basic_completion const&) = delete;

  /// acquire: pairs with close(), because the result is read next.
  [[nodiscard]] bool closed() const noexcept { return word_.load(std::memory_order_acquire) == done; }

  /// False: the result is there. Otherwise whoever closes the list gets the waiter, or remove() does.
  [[nodiscard]] bool add(waiter& w) noexcept {
    for (std::uintptr_t word = read();; word = read()) {
      if (word == done) return false;
      w.next = first(word);
      // release: pairs with close(), because the waiter was written before.
      if (word_.compare_exchange_weak(word, reinterpret_cast<std::uintptr_t>(&w), std::memory_order_release,
                                      std::memory_order_relaxed))
        return true;
    }
  }

  /// The result is there: the waiters, in the order in which they came. Once.
  [[nodiscard]] waiter* close() noexcept {
    std::uintptr_t word = read();
    // release: pairs with closed() and read(), because the result was written before. acquire: pairs with
    // add().
    while (!word_.compare_exchange_weak(word, done, std::memory_order_acq_rel, std::memory_order_relaxed))
      word = read();
    waiter* oldest = nullptr;
    for (waiter* w = first(word); w != nullptr;) {
      waiter* const next = w->next;
      w->next = oldest;
      oldest = w;
      w = next;
    }
    return oldest;
  }

  /// True: nobody will get the waiter any more. False: close() has it, or it is not there. Amortised O(1).
  [[nodiscard]] bool remove(waiter& w) noexcept {
    std::uintptr_t word = 0;
    do {
      word = read();
      if (word == done) return false;
      // acquire: pairs with add() of the others, whose links are read next.
    } while (!word_.compare_exchange_weak(word, word | locked, std::memory_order_acquire,
                                          std::memory_order_relaxed));
    // Links back those who have come since the last removal: all but the newest are then linked both ways.
    for (waiter* n = first(word); n != nullptr && n->next != nullptr && n->next->previous != n; n = n->next)
      n->next->previous = n;
    bool const newest = first(word) == &w;
    bool const found = newest || w.previous != nullptr;
    if (found) {
      if (w.next != nullptr) w.next->previous = w.previous;
      if (newest)
        word = reinterpret_cast<std::uintptr_t>(w.next);
      else
        w.previous->next = w.next;
      w.previous = nullptr;
    }
    word_.store(word, std::memory_order_release); // pairs with read()
    return found;
  }
};

using completion = basic_completion<std_policy>;

} // namespace rubato::detail
