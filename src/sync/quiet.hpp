// Whether nothing is left to do, and the threads that wait for that. docs/design/parking.md
//
// Quiet: no thread runs, nothing is queued, no thread moves tasks between queues, no timer is armed, all at
// one moment. Each is a count of its own, so a thread that asks reads them one after the other.
//
// Must not occur: the answer is yes although there was no such moment.
// - A thread counts as running, or as moving tasks, before it takes anything out of a queue. So a task
//   is seen in a queue or in one of the two counts, if these are read before and after the queues.
// - A thread may begin and end between the two reads, and queue more behind the look. It has counted that in
//   began_, or in a count that the caller adds: a changed sum makes the thread ask anew.
// - A timer is armed until what it makes ready is queued. Threads count the timers that they arm, and
//   those that they disarm, by stripes. The asker reads all counts of the disarmed, then all of the
//   armed. A count of the disarmed that shows the end of a timer makes its beginning visible too, and
//   that of each timer armed before. So the sums are equal only if no timer was armed between the two
//   reads.
//
// Must not occur: a thread sleeps, and all others have gone. It announces itself, reads changed_, asks, and
// sleeps while changed_ has that value. A thread that ends a run changes the running count, then looks for
// announcements; so does a thread that disarms a timer. All are seq_cst: it sees the announcement,
// or the asker sees the change (Dekker).
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"

#include <array>
#include <cstdint>

namespace rubato::detail {

template<class Policy, unsigned Stripes = 8>
class basic_quiet {
  template<class T>
  using atomic = typename Policy::template atomic<T>;

  atomic<unsigned> waiting_{0};      // threads that wait
  atomic<std::uint32_t> changed_{0}; // counts the wakes
  atomic<unsigned> moving_{0};       // threads that move tasks
  atomic<std::uint64_t> began_{0};   // runs and moves that have begun

  struct alignas(64) timer_counts {
    atomic<std::uint64_t> armed{0}, disarmed{0}; // since the beginning
  };
  std::array<timer_counts, Stripes> timers_; // by the numbers of threads

public:
  /// A thread waits while this lives.
  class announcement {
    basic_quiet& of_;

  public:
    explicit announcement(basic_quiet& q) noexcept
        : of_(q) {
      of_.waiting_.fetch_add(1, std::memory_order_seq_cst); // pairs with is_awaited()
    }
    announcement(announcement const&) = delete;
    announcement& operator=(announcement const&) = delete;
    ~announcement() {
      // relaxed: a look too many is harmless.
      unsigned const before = of_.waiting_.fetch_sub(1, std::memory_order_relaxed);
      RUBATO_ASSERT(before != 0, "a wait for quiet ends that has not begun", before);
    }
  };

  /// The thread takes tasks out of queues without running them, while this lives.
  class in_transit {
    basic_quiet& of_;

  public:
    explicit in_transit(basic_quiet& q) noexcept
        : of_(q) {
      of_.moving_.fetch_add(1, std::memory_order_seq_cst); // pairs with holds()
    }
    in_transit(in_transit const&) = delete;
    in_transit& operator=(in_transit const&) = delete;
    ~in_transit() {
      of_.began();
      // seq_cst: pairs with holds(), which then sees the count.
      unsigned const before = of_.moving_.fetch_sub(1, std::memory_order_seq_cst);
      RUBATO_ASSERT(before != 0, "a move of tasks ends that has not begun", before);
    }
  };

  /// A thread that no other count shows begins to run. release: pairs with holds().
  void began() noexcept { began_.fetch_add(1, std::memory_order_release); }

  /// A timer is running that will make work ready. relaxed: by a thread that runs, or before its caller asks.
  void arm(unsigned thread) noexcept {
    timers_[thread % Stripes].armed.fetch_add(1, std::memory_order_relaxed);
  }
  /// After that work was queued, or the timer was cancelled. seq_cst, as the end of a run: pairs with
  /// announcement, because the caller looks for announcements next, and with armed().
  void disarm(unsigned thread) noexcept {
    timers_[thread % Stripes].disarmed.fetch_add(1, std::memory_order_seq_cst);
  }
  /// How many timers are armed. The thread that disarms the last one, then asks, is told zero.
  [[nodiscard]] std::uint64_t armed() const noexcept {
    std::uint64_t left = 0;
    // seq_cst: pairs with disarm(), because what the timer made ready is queued, and its arm() is counted.
    for (timer_counts const& c : timers_) left -= c.disarmed.load(std::memory_order_seq_cst);
    // relaxed: the loads above order these.
    for (timer_counts const& c : timers_) left += c.armed.load(std::memory_order_relaxed);
    RUBATO_ASSERT(static_cast<std::int64_t>(left) >= 0, "a timer was disarmed that was not armed", left);
    return left;
  }
  [[nodiscard]] bool any_armed() const noexcept { return armed() != 0; }

  /// `begun()`: a sum that each run changes; `runs()` and `queued()` read seq_cst. False: a thread runs, or
  /// will, and looks for announcements when it ends.
  template<class Begun, class Runs, class Queued>
  [[nodiscard]] bool holds(Begun begun, Runs runs, Queued queued) const noexcept {
    auto const sum = [&] { return begun() + began_.load(std::memory_order_acquire); };
    auto const moves = [&] { return runs() || moving_.load(std::memory_order_seq_cst) != 0; };
    for (;;) {
      std::uint64_t const before = sum();
      // The timers after the runs: a thread that is found to run no more has armed its timers before.
      if (moves() || any_armed() || queued() || moves()) return false;
      // A thread that began in between may have looked for announcements already: ask anew.
      if (sum() == before) return true;
    }
  }

  /// By a thread that has ended a run, or changed what others wait for. seq_cst: pairs with announcement.
  [[nodiscard]] bool is_awaited() const noexcept { return waiting_.load(std::memory_order_seq_cst) != 0; }
  void notify_all() noexcept {
    changed_.fetch_add(1, std::memory_order_release); // pairs with changes(), because the asker looks next
    Policy::futex_wake(changed_, ~0U >> 1U);
  }

  /// By a thread that has announced itself, before it asks.
  [[nodiscard]] std::uint32_t changes() const noexcept { return changed_.load(std::memory_order_acquire); }
  /// Sleeps until notify_all() is called, unless it was since changes() returned that value.
  void sleep(std::uint32_t changes) noexcept { Policy::futex_wait(changed_, changes); }
  /// The same, until the deadline. False: it has passed.
  template<class Deadline>
  [[nodiscard]] bool sleep_until(std::uint32_t changes, Deadline const& until) noexcept {
    return Policy::futex_wait_until(changed_, changes, until);
  }
};

using quiet = basic_quiet<std_policy>;

} // namespace rubato::detail
