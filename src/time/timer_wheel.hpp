// Timers ordered by their deadlines: a hierarchical wheel. docs/design/timers.md
//
// Level l has 64 slots of 64^l ticks each; a timer stands on the level of the highest digit, to base 64, in
// which its tick differs from `base_`. So the slots of a level come in the order of time, and those of a
// level before those of the next. Beyond the last level stands one list, `far_`.
//
// Source: G. Varghese, A. Lauck, "Hashed and hierarchical timing wheels".
#pragma once

#include "rubato/detail/sched/timer.hpp"

#include <array>
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
  static constexpr unsigned levels = 7, slots = 1U << digit_bits; // nine years
  static constexpr unsigned far = levels;

  struct list {
    timer* first = nullptr; // in a ring
    clock_ns least = 0;     // no timer here is due earlier; means nothing if there is none
  };
  std::array<std::array<list, slots>, levels> wheel_{};
  std::array<std::uint64_t, levels> filled_{}; // by level, one bit per slot
  list far_;
  tick base_ = 0;          // no timer here has an earlier tick
  unsigned cascading_ = 0; // the level of a slot that is half emptied into lower levels; 0: none

  struct place {
    unsigned level, slot;
  };
  static tick tick_of(clock_ns due) noexcept;
  static unsigned digit(tick t, unsigned level) noexcept;
  [[nodiscard]] list& at(place p) noexcept { return p.level == far ? far_ : wheel_[p.level][p.slot]; }
  [[nodiscard]] place place_of(tick t) const noexcept;
  [[nodiscard]] bool first_place(place& p) noexcept;
  [[nodiscard]] tick start_of(place p) const noexcept;
  void append(timer& t, place p) noexcept;
  void scatter_far() noexcept;
  [[nodiscard]] std::size_t cascade(place p, std::size_t most) noexcept;
  void take_all(place p, timer_batch& out, std::size_t& steps) noexcept;
  void pick(place p, clock_ns now, timer_batch& out, std::size_t steps) noexcept;

public:
  static constexpr unsigned all_levels = levels + 1; ///< with the list beyond the last one

  /// The timer is in no wheel.
  void insert(timer& t) noexcept;
  /// The timer is in this wheel.
  void erase(timer& t) noexcept;
  [[nodiscard]] static bool is_linked(timer const& t) noexcept { return t.level_ != timer::unlinked; }
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
    for (unsigned slot = 0, n = level == far ? 1 : slots; slot != n; ++slot) {
      timer* const first = at({level, slot}).first;
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
