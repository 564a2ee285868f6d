// Two facts about work: it is ready to run, and an entry for it is in a queue. They are separate because a
// waiter may run (claim) queued work in place, which leaves the entry behind. docs/design/futures.md
//
// States: 0; queued|ready after offer(); queued|stale after claim(), while the claimer runs the work and the
// old entry is still queued; queued|ready|stale if the work is offered again before a worker meets that
// entry. take() and drop_if_stale() return to 0.
//
// Invariant: `queued` is set exactly while one entry is in a queue, so work is never queued twice. Only
// take() and claim() clear `ready`, each by a read-modify-write: so exactly one thread runs the work per
// offer.
//
// The priority of the work is in the same word, so that one step decides the queue: offer() tells the
// priority at that moment, and raise() tells whether the entry is in the queue of the lower priority. Bits of
// the priority are only ever set: low, then raised (to normal), then high; the highest one counts. `behind`:
// the entry is in a queue where the work would wait too long, of a lower priority or of a pool that the work
// has left; it goes with `queued`.
//
// `doubled`: a second entry stands where the work belongs. It claims the work, and clears the bit before it
// tries: so an offer that finds the bit set precedes that claim, which finds the work ready. A raise or a
// move clears the bit, because that entry is then in the wrong place, too.
//
// Ordering: offer() releases what the offering thread wrote; the thread that runs the work acquires it in
// take() or claim().
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"
#include "rubato/priority.hpp"

#include <cstdint>

namespace rubato::detail {

// Not in the class: g++ warns of enumerators in templates that shadow a program's global names.
enum class queue_claimed : std::uint8_t { no, first, again };

template<class Policy>
class basic_queue_state {
  static constexpr std::uint8_t queued = 1, ready = 2, stale = 4;
  static constexpr std::uint8_t low = 8, raised = 16, high = 32, priorities = low | raised | high;
  static constexpr std::uint8_t behind = 64, doubled = 128;
  typename Policy::template atomic<std::uint8_t> bits_{0};

  /// Without the priority, and wherever the entry is.
  static constexpr std::uint8_t entry_in(std::uint8_t bits) noexcept {
    return bits & (queued | ready | stale);
  }
  static constexpr std::uint8_t bit_of(priority c) noexcept {
    return c == priority::high ? high : c == priority::low ? low : raised;
  }
  static constexpr priority priority_in(std::uint8_t bits) noexcept {
    if ((bits & priorities) == 0) [[likely]]
      return priority::normal;
    return (bits & high) != 0 ? priority::high : (bits & raised) != 0 ? priority::normal : priority::low;
  }

  static constexpr std::uint8_t raised_to(priority c, std::uint8_t bits) noexcept {
    return static_cast<std::uint8_t>((bits | bit_of(c) | ((bits & queued) != 0 ? behind : 0)) & ~doubled);
  }

public:
  struct offered {
    bool to_queue; ///< the caller puts an entry into a queue; else an old entry is still in one
    priority level;
    bool is_behind; ///< that is the queue of a lower priority, or of another pool: see leave_behind()
    explicit operator bool() const noexcept { return to_queue; }
  };
  /// The work is ready.
  [[nodiscard]] offered offer() noexcept {
    // release: pairs with take() and claim(), because the thread that runs the work reads it. acquire: pairs
    // with take(), because the thread that took the entry out of the queue has finished with it.
    std::uint8_t const before = bits_.fetch_or(queued | ready, std::memory_order_acq_rel);
    RUBATO_ASSERT_STEP(entry_in(before) == 0 || entry_in(before) == (queued | stale),
                       "work is offered that was offered and not begun", before);
    return {(before & queued) == 0, priority_in(before), (before & behind) != 0};
  }

  /// The same for work that was never ready before. Other threads may know it, and claim it before they meet
  /// it in a queue. No thread raises it.
  priority offer_first() noexcept {
    std::uint8_t const before = bits_.load(std::memory_order_relaxed);
    RUBATO_ASSERT_STEP(entry_in(before) == 0, "the first offer of work is not the first", before);
    bits_.store(before | queued | ready, std::memory_order_release); // pairs with claim()
    return priority_in(before);
  }

  /// relaxed: a hint, unless no thread raises the work.
  [[nodiscard]] priority level() const noexcept { return priority_in(bits_.load(std::memory_order_relaxed)); }
  /// It was low at first, so an old entry may be in a queue of that priority.
  [[nodiscard]] bool was_low() const noexcept { return (bits_.load(std::memory_order_relaxed) & low) != 0; }
  /// For the thread that has just linked the work to other work (seq_cst) that must not have a lower
  /// priority.
  [[nodiscard]] priority linked_priority() const noexcept {
    // seq_cst: pairs with raise(). Either the thread that raises this finds the link, or its raise is seen.
    return priority_in(bits_.load(std::memory_order_seq_cst));
  }
  /// For work that no other thread knows, before its first offer.
  void set_priority(priority c) noexcept {
    if (c != priority::normal) bits_.store(bit_of(c), std::memory_order_relaxed);
  }
  /// For the only thread that knows the work: was it never offered, and has it the usual priority?
  [[nodiscard]] bool is_blank() const noexcept { return bits_.load(std::memory_order_relaxed) == 0; }
  enum class raising : std::uint8_t {
    needless, ///< it had that priority, or a higher one
    applied,
    of_queued ///< applied, and the work is ready in a queue of its old priority
  };
  /// Gives the work that priority if its own is lower.
  raising raise(priority c) noexcept {
    std::uint8_t bits = bits_.load(std::memory_order_relaxed);
    do
      if (priority_in(bits) <= c) return raising::needless;
    // Against offer() any order does: both change this word, and the one that comes second sees the other.
    // seq_cst: pairs with linked_priority(), because the caller looks next at what this work is linked to.
    while (!bits_.compare_exchange_weak(bits, raised_to(c, bits), std::memory_order_seq_cst,
                                        std::memory_order_relaxed));
    return (bits & ready) != 0 ? raising::of_queued : raising::applied;
  }

  /// For the runner, which has claimed the work and moves it to another pool: if its entry is still queued,
  /// it is in the wrong queue. An offer then says so, and the caller queues a second entry, which claims.
  void leave_behind() noexcept {
    std::uint8_t bits = bits_.load(std::memory_order_relaxed);
    // relaxed: only the runner itself, in offer(), and later runners need to see it.
    while ((bits & queued) != 0 &&
           !bits_.compare_exchange_weak(bits, static_cast<std::uint8_t>((bits | behind) & ~doubled),
                                        std::memory_order_relaxed)) {
    }
  }

  /// After an offer that is behind. True: the caller queues a second entry. False: one is queued.
  [[nodiscard]] bool try_double() noexcept {
    // relaxed, here and in undouble(): offer, try_double, undouble and claim all change this word, in one
    // order.
    return (bits_.fetch_or(doubled, std::memory_order_relaxed) & doubled) == 0;
  }
  /// By the second entry, before it claims; or if it could not be made.
  void undouble() noexcept {
    bits_.fetch_and(static_cast<std::uint8_t>(~doubled), std::memory_order_relaxed);
  }

  using claimed = queue_claimed;
  /// The caller wants to run the work in place. no: another thread runs it, or it is not ready. first: from
  /// now on the queue needs its own reference to the work. again: it has one.
  [[nodiscard]] claimed claim() noexcept {
    std::uint8_t bits = queued | ready;
    for (;;) {
      if ((bits & ready) == 0) return claimed::no;
      // acquire: pairs with offer(). release: pairs with take(), which sees what the claimer did.
      if (bits_.compare_exchange_weak(bits, queued | stale | (bits & (priorities | behind | doubled)),
                                      std::memory_order_acq_rel, std::memory_order_relaxed)) {
        RUBATO_ASSERT_STEP((bits & queued) != 0, "work is claimed that is ready and in no queue", bits);
        return (bits & stale) != 0 ? claimed::again : claimed::first;
      }
    }
  }

  [[nodiscard]] bool is_ready() const noexcept {
    return (bits_.load(std::memory_order_relaxed) & ready) != 0;
  }

  /// For the thread that runs the work: it was claimed, and its entry is still in a queue.
  [[nodiscard]] bool is_queued() const noexcept {
    return (bits_.load(std::memory_order_relaxed) & queued) != 0;
  }

  struct taken {
    bool ready;          ///< the caller runs it
    bool stale;          ///< it was claimed while it was queued: the caller releases the queue's reference
    bool behind = false; ///< it was in the wrong queue: if it goes back there, see leave_behind()
  };
  /// The caller has taken the entry out of its queue.
  [[nodiscard]] taken take() noexcept {
    std::uint8_t bits = queued | ready; // nearly always
    // relaxed: it was not claimed since the offer whose entry the caller has, so the queue orders that offer
    // before this, and the next offer comes from the caller. Constants spare instructions.
    if (bits_.compare_exchange_strong(bits, 0, std::memory_order_relaxed)) [[likely]]
      return {.ready = true, .stale = false};
    while (!bits_.compare_exchange_weak(bits, bits & (priorities | doubled),
                                        std::memory_order_acq_rel, // as in offer()
                                        std::memory_order_relaxed)) {
    }
    RUBATO_ASSERT_STEP((bits & queued) != 0 && (bits & (ready | stale)) != 0,
                       "an entry was taken that stands for nothing", bits);
    return {(bits & ready) != 0, (bits & stale) != 0, (bits & behind) != 0};
  }

  /// For the thread that has taken the entry out of a queue. True: the work was claimed and is not ready
  /// again; the entry is gone.
  [[nodiscard]] bool drop_if_stale() noexcept {
    std::uint8_t bits = queued | stale;
    while (!bits_.compare_exchange_weak(bits, bits & (priorities | doubled), std::memory_order_acq_rel,
                                        std::memory_order_relaxed))
      if (entry_in(bits) != (queued | stale)) {
        RUBATO_ASSERT_STEP((bits & (queued | ready)) == (queued | ready),
                           "an entry was taken that stands for nothing", bits);
        return false;
      }
    return true;
  }
};

using queue_state = basic_queue_state<std_policy>;

} // namespace rubato::detail
