// Two facts about work: it is ready to run, and an entry for it is in a queue. They are separate because a
// waiter may run (claim) queued work in place, which leaves the entry behind. docs/design/futures.md
//
// States: 0; queued|ready after offer(); queued|stale after claim(), while the claimer runs the work and the
// old entry is still queued; queued|ready|stale if the work is offered again before a worker meets that
// entry. take() and drop_if_stale() return to 0.
//
// Invariant: `queued` is set exactly while one entry is in a queue, so work is never queued twice. Only
// take() and claim() clear `ready`, each by an atomic exchange: so exactly one thread runs the work per
// offer.
//
// Ordering: offer() releases what the offering thread wrote; the thread that runs the work acquires it in
// take() or claim().
#pragma once

#include "rubato/detail/base/policy.hpp"

#include <cstdint>

namespace rubato::detail {

// Not in the class: g++ warns of enumerators in templates that shadow a program's global names.
enum class ticket_claimed : std::uint8_t { no, first, again };

template<class Policy>
class basic_queue_state {
  static constexpr std::uint8_t queued = 1, ready = 2, stale = 4;
  typename Policy::template atomic<std::uint8_t> bits_{0};

public:
  /// The work is ready. True: the caller puts an entry into a queue. False: an old entry is still in one.
  [[nodiscard]] bool offer() noexcept {
    // release: pairs with take() and claim(), because the thread that runs the work reads it. acquire: pairs
    // with take(), because the thread that took the entry out of the queue has finished with it.
    return (bits_.fetch_or(queued | ready, std::memory_order_acq_rel) & queued) == 0;
  }

  /// The same for work that no other thread knows; queuing it publishes it.
  void offer_new() noexcept { bits_.store(queued | ready, std::memory_order_relaxed); }

  /// The same for work that was never ready before but is known to other threads, which may claim it before
  /// they meet it in a queue.
  void offer_first() noexcept {
    bits_.store(queued | ready, std::memory_order_release);
  } // pairs with claim()

  using claimed = ticket_claimed;
  /// The caller wants to run the work in place. no: another thread runs it, or it is not ready. first: from
  /// now on the queue needs its own reference to the work. again: it has one.
  [[nodiscard]] claimed claim() noexcept {
    std::uint8_t bits = queued | ready;
    for (;;) {
      if ((bits & ready) == 0) return claimed::no;
      // acquire: pairs with offer(). release: pairs with take(), which sees what the claimer did.
      if (bits_.compare_exchange_weak(bits, queued | stale, std::memory_order_acq_rel,
                                      std::memory_order_relaxed))
        return (bits & stale) != 0 ? claimed::again : claimed::first;
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
    bool ready; ///< the caller runs it
    bool stale; ///< it was claimed while it was queued: the caller releases the queue's reference
  };
  /// The caller has taken the entry out of its queue.
  [[nodiscard]] taken take() noexcept {
    std::uint8_t const bits = bits_.exchange(0, std::memory_order_acq_rel); // as in offer()
    return {(bits & ready) != 0, (bits & stale) != 0};
  }

  /// For the thread that has taken the entry out of a queue. True: the work was claimed and is not ready
  /// again; the entry is gone.
  [[nodiscard]] bool drop_if_stale() noexcept {
    std::uint8_t bits = queued | stale;
    return bits_.compare_exchange_strong(bits, 0, std::memory_order_acq_rel, std::memory_order_relaxed);
  }
};

using queue_state = basic_queue_state<std_policy>;

} // namespace rubato::detail
