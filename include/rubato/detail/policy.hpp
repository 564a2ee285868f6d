// What every protocol of the library is written against: its atomics, its fences, its sleep.
//
// In production the policy is `std_policy`, which is the standard library and vanishes. Under the explorer of
// interleavings (tests/explore) every one of these names is a scheduled step. A protocol class is therefore a
// template, `template<class Policy> class basic_x`, and production uses `using x = basic_x<std_policy>`.
#pragma once

#include <atomic>
#include <cstdint>

namespace rubato::detail {

struct deadline;

struct std_policy {
  template<class T>
  using atomic = std::atomic<T>;

  /// Plain data that one thread writes and another reads after synchronising. The explorer checks for races.
  template<class T>
  class plain {
    T value_{};

  public:
    constexpr plain() noexcept = default;
    constexpr explicit plain(T v) noexcept
        : value_(v) {}
    [[gnu::always_inline]] T get() const noexcept { return value_; }
    [[gnu::always_inline]] void set(T v) noexcept { value_ = v; }
  };

  /// The cheap half of an asymmetric barrier: only the compiler must keep the order of what stands around it.
  /// Pairs with heavy_barrier(), which makes every other thread of the process execute a full fence.
  [[gnu::always_inline]] static void light_barrier() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  /// The dear half: afterwards each other thread has executed a full fence at some point during this call.
  static void heavy_barrier() noexcept;
  /// A sequentially consistent fence of this thread alone.
  static void fence() noexcept;

  /// Sleeps while `word == expected`; may return for no reason. A full system call: never on a fast path.
  static void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept;
  /// The same until then at the latest; a time point converts to it, by deadline.hpp. False: it has passed.
  static bool futex_wait_until(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                               deadline const& until) noexcept;
  /// Wakes at most `count` of the sleepers on `word`. The word may be gone: only its address is used.
  static void futex_wake(std::atomic<std::uint32_t>& word, unsigned count) noexcept;
  /// Tells the core that this is a spin.
  static void pause() noexcept;
  /// How often to spin before a sleep in a short critical section.
  static constexpr unsigned spins = 100;
};

} // namespace rubato::detail
