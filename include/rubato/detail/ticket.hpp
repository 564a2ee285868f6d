// Whether a piece of work is ready, and whether it is in a queue: two things, since a waiter may run what is
// queued without taking it out. docs/design/futures.md
#pragma once

#include "rubato/detail/policy.hpp"

#include <cstdint>

namespace rubato::detail {

template<class Policy>
class basic_ticket {
  static constexpr std::uint8_t queued = 1, ready = 2, stale = 4;
  typename Policy::template atomic<std::uint8_t> bits_{0};

public:
  /// It is ready, once. True: the caller puts it into a queue; else it is still in one.
  [[nodiscard]] bool offer() noexcept {
    // release: pairs with whoever runs it. acquire: the one who took it out of the queue is done with it.
    return (bits_.fetch_or(queued | ready, std::memory_order_acq_rel) & queued) == 0;
  }

  /// The same for what nobody else knows yet; queuing it publishes it.
  void offer_new() noexcept { bits_.store(queued | ready, std::memory_order_relaxed); }

  /// The same for what was never ready before, but is known: who runs it may not have got it from a queue.
  void offer_first() noexcept {
    bits_.store(queued | ready, std::memory_order_release);
  } // pairs with claim()

  enum class claimed : std::uint8_t { no, first, again };
  /// Runs it without taking it out of its queue. no: somebody else does, or it is not ready. first: the queue
  /// needs a hold on it of its own from now on.
  [[nodiscard]] claimed claim() noexcept {
    std::uint8_t bits = queued | ready;
    for (;;) {
      if ((bits & ready) == 0) return claimed::no;
      // acquire: pairs with offer(). release: what the first claimer has done is seen by take().
      if (bits_.compare_exchange_weak(bits, queued | stale, std::memory_order_acq_rel,
                                      std::memory_order_relaxed))
        return (bits & stale) != 0 ? claimed::again : claimed::first;
    }
  }

  [[nodiscard]] bool is_ready() const noexcept {
    return (bits_.load(std::memory_order_relaxed) & ready) != 0;
  }

  /// By whoever runs it: it was claimed, and its entry has not been come across yet.
  [[nodiscard]] bool is_queued() const noexcept {
    return (bits_.load(std::memory_order_relaxed) & queued) != 0;
  }

  struct taken {
    bool ready; ///< the caller runs it
    bool stale; ///< it was claimed while it was queued: the queue's own hold on it ends
  };
  /// It has been taken out of its queue.
  [[nodiscard]] taken take() noexcept {
    std::uint8_t const bits = bits_.exchange(0, std::memory_order_acq_rel); // as in offer()
    return {(bits & ready) != 0, (bits & stale) != 0};
  }

  /// For whoever has taken it out of a queue: true if it was claimed and is not ready again. Then it is out.
  [[nodiscard]] bool drop_if_stale() noexcept {
    std::uint8_t bits = queued | stale;
    return bits_.compare_exchange_strong(bits, 0, std::memory_order_acq_rel, std::memory_order_relaxed);
  }
};

using ticket = basic_ticket<std_policy>;

} // namespace rubato::detail
