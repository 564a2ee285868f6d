// Where a routine is, and what has happened to it since. docs/design/routines.md
//
//   phase:  idle      in no pool
//           busy      in a run queue, or one thread has it: a worker in its callback, the thread that
//                     posts it, or the one that moved it here and is about to push it
//           waiting   for a flag
//   flags:  woken, signalled, expired (its deadline has passed)
//
// Invariant: one thread moves a routine out of each phase. The thread that moves it from waiting to busy
// pushes it; the one that has it alone touches its other fields. A start and a push do not change the phase,
// so a run that posts itself again needs no read-modify-write of the word.
//
// `running_` is written by the thread that has the routine, and says whether that is in the callback. It
// means something only while the phase is busy: the destructor reads it to tell a last run from a misuse.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"

#include <cstdint>

namespace rubato::detail {

// Not in the class, as in wait_list.hpp.
enum class routine_flag : std::uint32_t { woken = 4, signalled = 8, expired = 16 };

template<class Policy>
class basic_routine_state {
  using word = std::uint32_t;
  static constexpr word idle = 0, busy = 1, waiting = 2, phases = 3;
  static constexpr word woken = static_cast<word>(routine_flag::woken),
                        signalled = static_cast<word>(routine_flag::signalled),
                        expired = static_cast<word>(routine_flag::expired);
  typename Policy::template atomic<word> word_{idle};
  // relaxed: the thread that destroys the routine knows that the callback has begun.
  typename Policy::template atomic<bool> running_{false};

public:
  /// idle -> busy, for a thread that posts it. False: it is not idle.
  [[nodiscard]] bool begin_post() noexcept {
    word w = word_.load(std::memory_order_relaxed);
    // acquire: pairs with finish(), because the poster writes fields that the last owner has read.
    do
      if ((w & phases) != idle) return false;
    while (!word_.compare_exchange_weak(w, w | busy, std::memory_order_acquire, std::memory_order_relaxed));
    running_.store(false, std::memory_order_relaxed);
    return true;
  }

  /// For the thread that has it and pushes it next. `has_expired`: its deadline had passed when it was
  /// posted.
  void queue(bool has_expired) noexcept {
    RUBATO_ASSERT(is_busy(), "a routine was queued by a thread that does not have it");
    running_.store(false, std::memory_order_relaxed);
    clear_expired();
    // relaxed: the queue passes the fields on; a waker touches the word alone.
    if (has_expired) word_.fetch_or(expired, std::memory_order_relaxed);
  }

  /// busy -> waiting. False: a flag is up; it stays busy, and the caller pushes it.
  [[nodiscard]] bool wait() noexcept {
    running_.store(false, std::memory_order_relaxed);
    word w = word_.load(std::memory_order_relaxed);
    RUBATO_ASSERT((w & phases) == busy, "a routine waits by a thread that does not have it", w);
    // release: pairs with raise() and take(), because the thread that moves it on reads the other fields.
    while ((w & ~phases) == 0)
      if (word_.compare_exchange_weak(w, waiting, std::memory_order_release, std::memory_order_relaxed))
        return true;
    return false;
  }

  /// Puts the flag up. True: waiting -> busy, and the caller pushes it. False: this was the last touch.
  [[nodiscard]] bool raise(routine_flag f) noexcept {
    word w = word_.load(std::memory_order_relaxed);
    for (;;) {
      bool const waited = (w & phases) == waiting;
      // release, also if the flag is up already: pairs with start() and receive(), because the next run sees
      // what the caller did before. acquire: pairs with wait().
      word const moved = waited ? (w & ~phases) | busy : w;
      if (word_.compare_exchange_weak(w, moved | static_cast<word>(f), std::memory_order_acq_rel,
                                      std::memory_order_relaxed))
        return waited;
    }
  }

  /// The callback begins, and woken is down, for the worker that has taken the routine out of a queue. A wake
  /// that is not seen here leaves its flag up for the next wait.
  void start() noexcept {
    RUBATO_ASSERT(is_busy() && !is_running(), "a routine was run that was not queued");
    running_.store(true, std::memory_order_relaxed);
    // acquire, both: pair with raise(), because the callback reads what was written before a signal, and
    // before each wake whose flag goes down here.
    if ((word_.load(std::memory_order_acquire) & woken) != 0)
      word_.fetch_and(~woken, std::memory_order_acquire);
  }

  /// busy -> idle: its run is over, or it was dropped from its queue. The last touch. release: pairs with
  /// begin_post() and is_idle().
  void finish() noexcept {
    word const before = word_.fetch_and(woken | signalled, std::memory_order_release);
    RUBATO_ASSERT_STEP((before & phases) == busy, "a routine's run ends that has not begun", before);
  }

  /// waiting -> busy. False: it does not wait.
  [[nodiscard]] bool take() noexcept {
    word w = word_.load(std::memory_order_relaxed);
    // acquire: pairs with wait().
    while ((w & phases) == waiting)
      if (word_.compare_exchange_weak(w, (w & ~phases) | busy, std::memory_order_acquire,
                                      std::memory_order_relaxed))
        return true;
    return false;
  }

  /// For the thread that has it, before it arms a timer.
  void clear_expired() noexcept {
    // relaxed: no timer is armed, so only this thread changes the flag.
    if ((word_.load(std::memory_order_relaxed) & expired) != 0)
      word_.fetch_and(~expired, std::memory_order_relaxed);
  }
  /// True: the signal was up, and is down now. Its sender does not touch the routine any more.
  [[nodiscard]] bool receive() noexcept {
    if ((word_.load(std::memory_order_relaxed) & signalled) == 0) return false;
    // acquire: pairs with raise(), because the caller may destroy the routine now.
    word_.fetch_and(~signalled, std::memory_order_acquire);
    return true;
  }

  [[nodiscard]] bool has_expired() const noexcept {
    return (word_.load(std::memory_order_relaxed) & expired) != 0;
  }
  /// acquire: pairs with finish(), because the caller may destroy the routine.
  [[nodiscard]] bool is_idle() const noexcept {
    return (word_.load(std::memory_order_acquire) & phases) == idle;
  }
  /// Is it in its callback? Only while it is not idle.
  [[nodiscard]] bool is_running() const noexcept { return running_.load(std::memory_order_relaxed); }

private:
  [[nodiscard]] bool is_busy() const noexcept {
    return (word_.load(std::memory_order_relaxed) & phases) == busy;
  }
};

using routine_state = basic_routine_state<std_policy>;

} // namespace rubato::detail
