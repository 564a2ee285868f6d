// The policy against which every protocol of the library is written: its atomics, fences and futexes.
//
// In production the policy is `std_policy`: the standard library, without overhead. Under the explorer of
// interleavings (docs/design/explorer.md) each of these operations is a scheduled step. So a protocol class
// is a template, `template<class Policy> class basic_x`, and production uses `using x = basic_x<std_policy>`.
#pragma once

#include "rubato/detail/base/api.hpp"
#include <atomic>
#include <cstdint>

namespace rubato::detail {

struct deadline;

/// What a thread does at a parker, for the trace.
enum class parking : unsigned char { sleeps, polls, has_slept, woken };

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

  /// The cheap half of an asymmetric barrier: it only stops the compiler from reordering around it. Pairs
  /// with heavy_barrier(), which makes every other thread of the process execute a full fence.
  [[gnu::always_inline]] static void light_barrier() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  /// The expensive half: when it returns, each other thread has executed a full fence during this call.
  RUBATO_API static void heavy_barrier() noexcept;
  /// A sequentially consistent fence of the calling thread only.
  static void fence() noexcept;

  /// Sleeps while `word == expected`; may return spuriously. A full system call: never on a fast path.
  RUBATO_API static void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept;
  /// The same, until the deadline at the latest; a time point converts to it, by deadline.hpp. False: the
  /// deadline has passed.
  static bool futex_wait_until(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                               deadline const& until) noexcept;
  /// Wakes at most `count` threads that sleep on `word`. The word may be gone: only its address is used.
  RUBATO_API static void futex_wake(std::atomic<std::uint32_t>& word, unsigned number) noexcept;
  /// Ends the sleep of a thread that sleeps among the kernel's events, or the next such sleep.
  static void poke() noexcept;
  /// For the trace: the owner of a parker, or a thread that wakes it, says what it does. The parker may be
  /// gone: only its address is used. Defined in trace/note.cpp.
  static void note_parking(parking what, void const* parker) noexcept;
  /// For the trace: when the last free seat of a pool was taken, or one was left while none was free. Zero:
  /// the trace is off.
  [[nodiscard]] static std::uint64_t time_of_change() noexcept;
  /// The same, without a lock: the pool may be gone. Does nothing if the trace was off.
  static void note_seats(void const* pool, bool any_is_free, std::uint64_t at) noexcept;
  /// Tells the CPU that this is a spin loop.
  RUBATO_API static void pause() noexcept;
  /// Lets some time pass in a wait whose end is an instant away, see brief_wait.hpp. `round`: how often the
  /// wait has called it before. First a pause, then the CPU is left to another thread, then the thread
  /// sleeps, each time for longer, up to a millisecond: only a sleep lets a thread of lower priority run.
  RUBATO_API static void back_off(unsigned round) noexcept;
  /// Number of spins before a sleep in a short critical section.
  static constexpr unsigned spins = 100;
};

} // namespace rubato::detail
