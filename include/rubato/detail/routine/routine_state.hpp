// Where a routine is, and what has happened to it since: one word. docs/design/routines.md
//
//   phase:  idle      in no pool
//           queued    in a run queue, or about to be pushed by the thread that moved it there
//           running   one thread has it: a worker in its callback, or a thread that posts it
//           waiting   for a flag
//   flags:  woken, signalled, expired (its deadline has passed)
//
// Invariant: one thread moves a routine out of each phase. The thread that moves it from waiting to queued
// pushes it; the one that has it (running) alone touches its other fields.
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
  static constexpr word idle = 0, queued = 1, running = 2, waiting = 3, phases = 3;
  static constexpr word woken = static_cast<word>(routine_flag::woken),
                        signalled = static_cast<word>(routine_flag::signalled),
                        expired = static_cast<word>(routine_flag::expired);
  typename Policy::template atomic<word> word_{idle};

public:
  /// idle -> running, for a thread that posts it. False: it is not idle.
  [[nodiscard]] bool begin_post() noexcept {
    word w = word_.load(std::memory_order_relaxed);
    // acquire: pairs with finish() and drop(), because the poster writes fields that the last owner has read.
    do
      if ((w & phases) != idle) return false;
    while (
        !word_.compare_exchange_weak(w, w | running, std::memory_order_acquire, std::memory_order_relaxed));
    return true;
  }

  /// idle -> queued, for a thread that posts it without a deadline, and pushes it. False: it is not idle.
  [[nodiscard]] bool begin_queued() noexcept {
    word w = word_.load(std::memory_order_relaxed);
    // acquire: as in begin_post().
    do
      if ((w & phases) != idle) return false;
    while (!word_.compare_exchange_weak(w, w | queued, std::memory_order_acquire, std::memory_order_relaxed));
    return true;
  }

  /// running -> queued; the caller pushes it. `has_expired`: its deadline had passed when it was posted.
  void queue(bool has_expired) noexcept {
    word w = word_.load(std::memory_order_relaxed);
    RUBATO_ASSERT((w & phases) == running, "a routine was queued by a thread that does not have it", w);
    word const add = has_expired ? expired : 0;
    // relaxed: the queue passes the fields on; a waker touches the word alone.
    while (!word_.compare_exchange_weak(w, (w & ~(phases | expired)) | queued | add,
                                        std::memory_order_relaxed, std::memory_order_relaxed)) {
    }
  }

  /// running -> waiting. False: a flag is up; running -> queued, and the caller pushes it.
  [[nodiscard]] bool wait() noexcept {
    word w = word_.load(std::memory_order_relaxed);
    RUBATO_ASSERT((w & phases) == running, "a routine waits by a thread that does not have it", w);
    for (;;) {
      bool const waits = (w & ~phases) == 0;
      // release: pairs with raise() and take(), because the thread that moves it on reads the other fields.
      if (word_.compare_exchange_weak(w, (w & ~phases) | (waits ? waiting : queued),
                                      std::memory_order_release, std::memory_order_relaxed))
        return waits;
    }
  }

  /// Puts the flag up. True: waiting -> queued, and the caller pushes it. False: this was the last touch.
  [[nodiscard]] bool raise(routine_flag f) noexcept {
    word w = word_.load(std::memory_order_relaxed);
    for (;;) {
      bool const waited = (w & phases) == waiting;
      // release, also if the flag is up already: pairs with start() and receive(), because the next run sees
      // what the caller did before. acquire: pairs with wait().
      word const moved = waited ? (w & ~phases) | queued : w;
      if (word_.compare_exchange_weak(w, moved | static_cast<word>(f), std::memory_order_acq_rel,
                                      std::memory_order_relaxed))
        return waited;
    }
  }

  /// queued -> running, woken down, for the worker that has taken it out of a queue.
  void start() noexcept {
    word w = word_.load(std::memory_order_relaxed);
    RUBATO_ASSERT((w & phases) == queued, "a routine was run that was not queued", w);
    // acquire: pairs with raise().
    while (!word_.compare_exchange_weak(w, (w & ~(phases | woken)) | running, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
    }
  }

  /// running -> idle. The last touch. release: pairs with begin_post() and is_idle().
  void finish() noexcept { word_.fetch_and(woken | signalled, std::memory_order_release); }
  /// queued -> idle: it was dropped from its queue. The same.
  void drop() noexcept { word_.fetch_and(woken | signalled, std::memory_order_release); }

  /// waiting -> running. False: it does not wait.
  [[nodiscard]] bool take() noexcept {
    word w = word_.load(std::memory_order_relaxed);
    // acquire: pairs with wait().
    while ((w & phases) == waiting)
      if (word_.compare_exchange_weak(w, (w & ~phases) | running, std::memory_order_acquire,
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
  /// acquire: pairs with finish() and drop(), because the caller may destroy the routine.
  [[nodiscard]] bool is_idle() const noexcept {
    return (word_.load(std::memory_order_acquire) & phases) == idle;
  }
  [[nodiscard]] bool is_running() const noexcept {
    return (word_.load(std::memory_order_relaxed) & phases) == running;
  }
};

using routine_state = basic_routine_state<std_policy>;

} // namespace rubato::detail
