// A descriptor's place in the reactor: how many events each direction has had, and which wait waits for it.
// docs/design/reactor.md
//
// States of a direction: quiet; awaited, a wait is listed. Invariant: a wait is listed at most once, and
// leaves the list once: by deliver(), remove() or close(). The generation grows with each close(), and an
// event of another generation changes nothing.
//
// mutex_ guards everything, the kernel's registration of the descriptor included: `arm` runs under it. Only
// the numbers of events are read without it, and is_sending_ is changed without it.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/base/policy.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

namespace rubato::detail {

enum class direction : unsigned char { reading, writing };

/// Bits of the two directions, and `unusual`.
using directions = std::uint8_t;
/// Of a reader's event: the peer has closed, an error, or urgent data. From then on a read that returns fewer
/// bytes than asked for does not tell that the stream is empty.
inline constexpr directions unusual = 4;
[[nodiscard]] constexpr directions bit(direction d) noexcept {
  return d == direction::reading ? directions{1} : directions{2};
}

enum class listing : unsigned char {
  waits,  ///< the wait is listed
  ready,  ///< an event has come since the try began: try again
  busy,   ///< another wait waits for this direction
  closed, ///< the descriptor was closed since
  refused ///< by `arm`
};

/// What a task knew of a slot before it tried an operation.
struct slot_seen {
  std::uint32_t generation; ///< of the descriptor
  std::uint64_t events;     ///< the state of the direction's events
};

template<class Policy, class Wait>
class basic_descriptor_slot {
  template<class T>
  using plain = typename Policy::template plain<T>;
  basic_mutex<Policy> mutex_;
  plain<std::uint32_t> generation_{0};
  static constexpr std::uint64_t one_event = 2, had_unusual = 1, never_empty = had_unusual;
  // For each direction: twice the number of events, plus had_unusual. Changed under the lock.
  // 64 bits: it never comes back to a number that a reader has noted.
  std::array<typename Policy::template atomic<std::uint64_t>, 2> events_{};
  // What a reader had seen before it emptied the stream. relaxed: it is compared with what the same task
  // reads of events_, and await_edge() compares that under the lock. So an old value costs a try, no event.
  typename Policy::template atomic<std::uint64_t> empty_after_{never_empty};
  basic_flag<Policy> is_sending_; ///< an operation of several steps sends; the number stays its own meanwhile
  plain<bool> registered_{false}; ///< the kernel knows the descriptor, in this generation
  plain<bool> edges_{false};      ///< and tells of each change once
  std::array<plain<Wait*>, 2> waits_{};

  [[nodiscard]] plain<Wait*>& at(direction d) noexcept { return waits_[static_cast<std::size_t>(d)]; }
  [[nodiscard]] auto& events(direction d) noexcept { return events_[static_cast<std::size_t>(d)]; }
  void count_event(direction d, bool is_unusual = false) noexcept {
    std::uint64_t const before = events(d).load(std::memory_order_relaxed);
    // release: pairs with events_before(), because a task that reads this number finds in the kernel what the
    // event told of.
    events(d).store((before + one_event) | (is_unusual ? had_unusual : 0), std::memory_order_release);
  }
  [[nodiscard]] Wait* take(direction d) noexcept {
    Wait* const w = at(d).get();
    at(d).set(nullptr);
    return w;
  }

public:
  /// The waits that an event or the end of the descriptor has taken out; the caller ends them.
  struct taken {
    Wait* reader = nullptr;
    Wait* writer = nullptr;
  };
  /// For `arm`: the slot's state, which it may change.
  struct registration {
    std::uint32_t generation;
    bool registered;
    bool const edges;
    directions const awaited;
  };

  [[nodiscard]] std::uint32_t generation() noexcept {
    lock_guard const guard(mutex_);
    return generation_.get();
  }
  /// It is a descriptor of the library, which has waited for it.
  [[nodiscard]] bool tells_edges() noexcept {
    lock_guard const guard(mutex_);
    return edges_.get();
  }

  /// A wait is listed. It may have ended by the time that the caller knows.
  [[nodiscard]] bool is_awaited(direction d) noexcept {
    lock_guard const guard(mutex_);
    return at(d).get() != nullptr;
  }

  /// By an operation that sends in several steps. False: another one does. The winner calls end_sending().
  [[nodiscard]] bool begin_sending() noexcept { return is_sending_.try_raise(); }
  void end_sending() noexcept {
    RUBATO_ASSERT(is_sending_.is_raised(), "an operation ends that does not send", this);
    is_sending_.lower(); // the socket's lock in the kernel orders the bytes
  }

  // A descriptor of the library: registered once, for edges.

  /// To be read before an operation is tried: await_edge() sees the events that have come since.
  [[nodiscard]] std::uint64_t events_before(direction d) noexcept {
    return events(d).load(std::memory_order_acquire); // pairs with count_event()
  }
  /// After a read that returned some bytes, but fewer than asked for, and had seen that before: the stream
  /// was empty at a time since. Only for streams of which that is true.
  void note_empty(slot_seen seen) noexcept { empty_after_.store(seen.events, std::memory_order_relaxed); }
  /// No event has come since, so the caller may go to await_edge() without a try. For a reader that has just
  /// called events_before().
  [[nodiscard]] bool is_known_empty(slot_seen seen) const noexcept {
    return (seen.events & had_unusual) == 0 && seen.events == empty_after_.load(std::memory_order_relaxed);
  }
  /// After the operation found nothing. arm(generation): registers the descriptor, false if that failed; an
  /// edge for what is ready by then follows.
  template<class Arm>
  [[nodiscard]] listing await_edge(direction d, Wait& w, slot_seen seen, Arm arm) noexcept {
    lock_guard const guard(mutex_);
    if (generation_.get() != seen.generation) return listing::closed;
    if (events(d).load(std::memory_order_relaxed) != seen.events) return listing::ready;
    if (at(d).get() != nullptr) return listing::busy;
    if (!registered_.get() || !edges_.get()) {
      if (!arm(seen.generation)) return listing::refused;
      registered_.set(true);
      edges_.set(true);
    }
    at(d).set(&w);
    return listing::waits;
  }

  // A descriptor of others: armed for each wait, for the level.

  /// arm(registration&): arms the descriptor for one event of the awaited directions, or, if it is registered
  /// for edges, for an edge of what is ready now. False: that failed. `generation`: of the descriptor that
  /// the caller means; arm() may find that the number was that of another one until now.
  template<class Arm>
  [[nodiscard]] listing await_level(direction d, Wait& w, std::uint32_t& generation, Arm arm) noexcept {
    lock_guard const guard(mutex_);
    if (generation_.get() != generation) return listing::closed;
    if (at(d).get() != nullptr) return listing::busy;
    at(d).set(&w);
    bool const armed = rearm(arm);
    generation = generation_.get();
    if (armed) return listing::waits;
    at(d).set(nullptr);
    return listing::refused;
  }

  // By the thread that harvests events.

  /// Events of these directions, perhaps unusual. `arm`: as in await_level(), for the direction that is still
  /// awaited.
  template<class Arm>
  [[nodiscard]] taken deliver(std::uint32_t generation, directions events, Arm arm) noexcept {
    lock_guard const guard(mutex_);
    if (generation_.get() != generation) return {};
    RUBATO_ASSERT(registered_.get() || !edges_.get(), "events of a descriptor that the kernel does not know",
                  generation, events);
    taken all;
    if ((events & bit(direction::reading)) != 0) all.reader = take(direction::reading);
    if ((events & bit(direction::writing)) != 0) all.writer = take(direction::writing);
    if (edges_.get()) {
      for (direction const d : {direction::reading, direction::writing})
        if ((events & bit(d)) != 0) count_event(d, (events & unusual) != 0);
    } else if (directions const rest = awaited(); rest != 0 && !rearm(arm)) { // the descriptor is gone
      if ((rest & bit(direction::reading)) != 0) all.reader = take(direction::reading);
      if ((rest & bit(direction::writing)) != 0) all.writer = take(direction::writing);
    }
    return all;
  }

  /// The owner has ended these directions, of which the kernel may not tell a waiter. Reading is at its end.
  [[nodiscard]] taken raise(std::uint32_t generation, directions ended) noexcept {
    lock_guard const guard(mutex_);
    taken all;
    if (generation_.get() != generation) return all;
    if ((ended & bit(direction::reading)) != 0) {
      all.reader = take(direction::reading);
      count_event(direction::reading, true);
    }
    if ((ended & bit(direction::writing)) != 0) {
      all.writer = take(direction::writing);
      count_event(direction::writing);
    }
    return all;
  }

  /// False: an event, close() or a deadline has taken it out.
  [[nodiscard]] bool remove(direction d, Wait& w) noexcept {
    lock_guard const guard(mutex_);
    if (at(d).get() != &w) return false;
    at(d).set(nullptr);
    return true;
  }

  /// The descriptor is about to be closed. disarm(): ends its registration, if there is one.
  template<class Disarm>
  [[nodiscard]] taken close(Disarm disarm) noexcept {
    lock_guard const guard(mutex_);
    generation_.set(generation_.get() + 1);
    if (registered_.get()) disarm();
    registered_.set(false);
    edges_.set(false);
    // The next descriptor of the number begins anew.
    for (auto& e : events_)
      e.store(e.load(std::memory_order_relaxed) & ~had_unusual, std::memory_order_relaxed);
    empty_after_.store(never_empty, std::memory_order_relaxed);
    taken all;
    all.reader = take(direction::reading);
    all.writer = take(direction::writing);
    return all;
  }

  /// In the child of a fork(), whose only thread this is: as new, but in the generation that the child's
  /// copies of sockets know.
  void forget_others() noexcept {
    ::new (&mutex_) basic_mutex<Policy>;
    is_sending_.lower();
    registered_.set(false);
    edges_.set(false);
    for (auto& w : waits_) w.set(nullptr);
  }

private:
  [[nodiscard]] directions awaited() noexcept {
    directions all = 0;
    if (at(direction::reading).get() != nullptr) all = bit(direction::reading);
    if (at(direction::writing).get() != nullptr) all = static_cast<directions>(all | bit(direction::writing));
    return all;
  }
  template<class Arm>
  [[nodiscard]] bool rearm(Arm& arm) noexcept {
    registration r{generation_.get(), registered_.get(), edges_.get(), awaited()};
    RUBATO_ASSERT(r.awaited != 0, "a descriptor is armed for which no wait is listed", r.generation);
    bool const done = arm(r);
    generation_.set(r.generation);
    registered_.set(r.registered);
    return done;
  }
};

} // namespace rubato::detail
