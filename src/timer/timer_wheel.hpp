// Timers ordered by their deadlines: a hierarchical wheel. docs/design/timers.md
//
// Level l has 64 slots of 64^l ticks each; a timer stands on the level of the highest digit, to base 64, in
// which its tick differs from `base_`. So the slots of a level come in the order of time, and those of a
// level before those of the next. Eight levels hold every deadline that the clock can tell.
//
// Source: G. Varghese, A. Lauck, "Hashed and hierarchical timing wheels".
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/timer/timer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace rubato::detail {

/// Nanoseconds of the steady clock.
using clock_ns = std::int64_t;
inline constexpr clock_ns never_ns = std::numeric_limits<clock_ns>::max();

[[nodiscard]] inline clock_ns to_ns(std::chrono::steady_clock::time_point t) noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

/// Timers that are due, as one call takes them out of a wheel.
struct timer_batch {
  static constexpr std::size_t most = 256;
  std::array<timer*, most> timers;
  std::size_t size = 0;
  bool more = false; ///< the call stopped early: it has moved as many timers as a batch holds
};

/// Guarded by its owner's lock. An empty wheel is all zeros, so one in static storage takes no room in the
/// program's file.
class timer_wheel {
  using tick = std::uint64_t;
  static constexpr unsigned tick_bits = 16; // 65 us
  static constexpr unsigned digit_bits = 6;
  static constexpr unsigned levels = 8, slots_in_level = 1U << digit_bits;
  static constexpr unsigned slots = levels * slots_in_level;
  static_assert(never_ns >> tick_bits >> (digit_bits * levels) == 0);

  struct list {
    timer* first = nullptr; // in a ring
    clock_ns least = 0;     // no timer here is due earlier; means nothing if there is none
  };
  std::array<list, slots> slots_{};            // level by level
  std::array<std::uint64_t, levels> filled_{}; // by level, one bit per slot
  tick base_ = 0;                              // no timer here has an earlier tick
  unsigned cascading_ = 0; // the level of a slot that is half emptied into lower levels; 0: none

  /// A deadline before the clock's epoch has passed, as has the epoch.
  static tick tick_of(clock_ns due) noexcept {
    return static_cast<tick>(std::max<clock_ns>(due, 0)) >> tick_bits;
  }
  static unsigned level_of(unsigned slot) noexcept { return slot / slots_in_level; }
  static std::uint64_t bit_of(unsigned slot) noexcept { return std::uint64_t{1} << (slot % slots_in_level); }
  static unsigned slot_on(unsigned level, tick t) noexcept {
    return level * slots_in_level + static_cast<unsigned>(t >> (digit_bits * level)) % slots_in_level;
  }
  /// The slot of a tick from `base_` on. While a slot is half emptied, what belongs behind its timers goes
  /// there too.
  [[nodiscard]] unsigned slot_of(tick t) const noexcept {
    tick const differs = (t ^ base_) | 1U; // the lowest bit does not change the level
    unsigned const level = (static_cast<unsigned>(std::bit_width(differs)) - 1) / digit_bits;
    return slot_on(std::max(level, cascading_), t);
  }
  void append(timer& t, unsigned slot) noexcept {
    list& l = slots_[slot];
    clock_ns const due = to_ns(t.due);
    if (timer* const first = l.first) {
      timer* const last = first->previous_;
      t.next_ = first;
      t.previous_ = last;
      last->next_ = &t;
      first->previous_ = &t;
      l.least = std::min(l.least, due);
    } else {
      l.first = &t;
      t.next_ = &t;
      t.previous_ = &t;
      l.least = due;
      filled_[level_of(slot)] |= bit_of(slot);
    }
    t.slot_ = static_cast<std::uint16_t>(slot);
  }
  [[nodiscard]] bool first_slot(unsigned& slot) noexcept;
  [[nodiscard]] tick start_of(unsigned slot) const noexcept;
  [[nodiscard]] std::size_t cascade(unsigned slot, std::size_t most) noexcept;
  void take_all(unsigned slot, timer_batch& out, std::size_t& steps) noexcept;
  void pick(unsigned slot, clock_ns now, timer_batch& out, std::size_t steps) noexcept;

public:
  static constexpr unsigned all_levels = levels;

  /// The timer is in no wheel.
  void insert(timer& t) noexcept {
    RUBATO_ASSERT(!is_linked(t), "a timer was armed twice", t.slot_);
    append(t, slot_of(std::max(tick_of(to_ns(t.due)), base_)));
  }
  /// The timer is in this wheel.
  void erase(timer& t) noexcept {
    unsigned const slot = t.slot_;
    list& l = slots_[slot];
    timer* const next = t.next_;
    if (next == &t) {
      l.first = nullptr;
      filled_[level_of(slot)] &= ~bit_of(slot);
    } else {
      timer* const previous = t.previous_;
      if (l.first == &t) l.first = next;
      next->previous_ = previous;
      previous->next_ = next;
    }
    t.slot_ = timer::unlinked;
  }
  [[nodiscard]] static bool is_linked(timer const& t) noexcept { return t.slot_ != timer::unlinked; }
  /// Takes out timers that are due. Their ticks ascend; those of one tick come in the order in which they
  /// were inserted. A call handles at most as many timers as a batch holds, and says whether there is more to
  /// do.
  void take_due(clock_ns now, timer_batch& out) noexcept;
  /// No timer here is due earlier; never_ns: the wheel is empty. After a take_due() that has done all, it is
  /// later than `now`.
  [[nodiscard]] clock_ns earliest() const noexcept;
  /// Takes out those timers of a level for which `wanted` is true: a list through their links.
  template<class Wanted>
  [[nodiscard]] timer* take_out(unsigned level, Wanted wanted) noexcept {
    timer* taken = nullptr;
    for (unsigned slot = level * slots_in_level, end = slot + slots_in_level; slot != end; ++slot) {
      timer* const first = slots_[slot].first;
      timer* const last = first != nullptr ? first->previous_ : nullptr;
      for (timer *t = first, *next = nullptr; t != nullptr; t = t != last ? next : nullptr) {
        next = t->next_;
        if (!wanted(*t)) continue;
        erase(*t);
        t->next_ = std::exchange(taken, t);
      }
    }
    return taken;
  }
  /// Takes out all timers.
  void clear() noexcept;
};

} // namespace rubato::detail
