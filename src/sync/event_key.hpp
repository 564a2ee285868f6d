// Which thread sleeps where the kernel's events arrive: the key of the event set. docs/design/reactor.md
//
// States: free; held by one thread, which looks at the events, or sleeps there beside its parker (`polling`);
// awaited, held while the standby thread waits for the release. The standby sleeps among the events too,
// without the key, so events are noticed whether or not a thread holds it.
//
// Must not occur: the holder sleeps, and a wake that is meant for it has ended the standby's sleep instead.
// - A waker that finds `polling` pokes the set, which ends the sleep of one of its sleepers, or the next one.
// - The holder takes the key before it is `polling`, and releases it after it has looked at its parker again.
//   So a standby that was woken by a poke finds the key held, and pokes again, or the holder has seen its
//   wake. It sleeps among the events again only after a release: it cannot catch the second poke.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "sync/parker.hpp"

#include <cstdint>

namespace rubato::detail {

template<class Policy>
class basic_event_key {
  static constexpr std::uint32_t available = 0, held = 1, awaited = 2;
  typename Policy::template atomic<std::uint32_t> word_{available};

  [[nodiscard]] bool take() noexcept {
    if (word_.load(std::memory_order_relaxed) != available) return false;
    std::uint32_t expected = available;
    // relaxed: the parker's word orders the holder and its wakers, the kernel the events.
    return word_.compare_exchange_strong(expected, held, std::memory_order_relaxed,
                                         std::memory_order_relaxed);
  }
  void release() noexcept {
    std::uint32_t const before = word_.exchange(available, std::memory_order_relaxed);
    RUBATO_ASSERT(before == held || before == awaited, "the key is released that no thread holds", before);
    if (before == awaited) Policy::futex_wake(word_, 1);
  }

public:
  constexpr basic_event_key() noexcept = default;

  /// For an idle thread: holds the key and sleeps by `wait()` until there are events or its parker is
  /// unparked. False: another thread holds the key.
  template<class Wait>
  [[nodiscard]] bool sleep(basic_parker<Policy>& own, Wait wait) noexcept {
    if (!take()) return false;
    own.poll(wait);
    release();
    return true;
  }
  /// Looks for events by `look()`, which does not sleep, unless another thread holds the key.
  template<class Look>
  void look(Look look) noexcept {
    if (!take()) return;
    look();
    release();
  }

  /// For the standby, after each sleep among the events. While a thread holds the key, it stays away: the
  /// kernel wakes the thread first that came last, and that is to be the holder. `poked`: the events had a
  /// poke among them. True: it stayed away.
  bool stand_back(bool poked) noexcept {
    std::uint32_t expected = held;
    if (!word_.compare_exchange_strong(expected, awaited, std::memory_order_relaxed,
                                       std::memory_order_relaxed))
      return false;
    if (poked) Policy::poke();
    while (word_.load(std::memory_order_relaxed) == awaited) Policy::futex_wait(word_, awaited);
    return true;
  }

  /// In the child of fork(), where no thread holds it.
  void reset() noexcept { word_.store(available, std::memory_order_relaxed); }
};

using event_key = basic_event_key<std_policy>;

} // namespace rubato::detail
