// Through the gate the owner of a stolen half asks it to stop, while the half may end at any time.
// docs/design/take.md
//
// Invariant: the owner's function runs only between the thief's open() and the return of its close(), so the
// objects in the thief's frame that it uses are alive.
#pragma once

#include "rubato/detail/base/policy.hpp"

#include <cstdint>

namespace rubato::detail {

/// One word in the owner's frame. The thief opens the gate before the half begins and closes it after the
/// half has ended. In between the owner may, once, call an object in the thief's frame through it.
template<class Policy>
class basic_stop_gate {
  // unbegun -> open -> closed, or -> calling [-> awaited] -> closed; unbegun -> closed: the half is skipped.
  static constexpr std::uint32_t unbegun = 0, opened = 1, calling = 2, awaited = 3, closed = 4;
  typename Policy::template atomic<std::uint32_t> word_{unbegun};

public:
  constexpr basic_stop_gate() noexcept = default;

  /// For the thief, once. False: the owner was faster, and the half must not begin.
  [[nodiscard]] bool open() noexcept {
    std::uint32_t expected = unbegun;
    // release: pairs with call(), because f uses objects built before. relaxed on failure: it reads nothing.
    return word_.compare_exchange_strong(expected, opened, std::memory_order_release,
                                         std::memory_order_relaxed);
  }

  /// For the thief, after open() was true: when it returns, the owner is not in call() and will not call.
  void close() noexcept {
    std::uint32_t seen = opened;
    // acquire on failure: pairs with the release in call(), because the thief then destroys the called
    // object. Success means that call() has not run; relaxed would do, but g++ 12 warns of less than on
    // failure.
    if (word_.compare_exchange_strong(seen, closed, std::memory_order_acquire, std::memory_order_acquire))
      return;
    for (unsigned i = 0; seen != closed && i != Policy::spins; ++i) {
      Policy::pause();
      seen = word_.load(std::memory_order_acquire); // as above
    }
    while (seen != closed) {
      // relaxed, both: the load below acquires.
      if (seen == awaited ||
          word_.compare_exchange_strong(seen, awaited, std::memory_order_relaxed, std::memory_order_relaxed))
        Policy::futex_wait(word_, awaited);
      seen = word_.load(std::memory_order_acquire); // as above
    }
  }

  /// For the owner, at most once: calls f if the half runs; if the half has not begun, the thief will skip
  /// it.
  template<class F>
  void call(F&& f) noexcept {
    std::uint32_t seen = unbegun;
    // relaxed, both: the thief reads nothing if open() fails, and f's objects are acquired next.
    if (word_.compare_exchange_strong(seen, closed, std::memory_order_relaxed, std::memory_order_relaxed))
      return;
    // acquire: pairs with open(), because f uses objects built before.
    if (seen != opened ||
        !word_.compare_exchange_strong(seen, calling, std::memory_order_acquire, std::memory_order_relaxed))
      return;
    f();
    // release: pairs with close(), because the thief then destroys the called object. The word is in the
    // caller's frame, and lives on.
    if (word_.exchange(closed, std::memory_order_release) == awaited) Policy::futex_wake(word_, 1);
  }
};

using stop_gate = basic_stop_gate<std_policy>;

} // namespace rubato::detail
