#include "time/timer_wheel.hpp"

#include "rubato/detail/base/assert.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace rubato::detail {

/// A deadline before the clock's epoch has passed, as has the epoch.
timer_wheel::tick timer_wheel::tick_of(clock_ns due) noexcept {
  return static_cast<tick>(std::max<clock_ns>(due, 0)) >> tick_bits;
}

unsigned timer_wheel::digit(tick t, unsigned level) noexcept {
  return static_cast<unsigned>(t >> (digit_bits * level)) % slots;
}

/// While a slot is half emptied, what belongs behind its timers goes there too.
timer_wheel::place timer_wheel::place_of(tick t) const noexcept {
  tick const differs = t ^ base_;
  unsigned const level = differs == 0 ? 0 : (static_cast<unsigned>(std::bit_width(differs)) - 1) / digit_bits;
  if (level >= far) return {far, 0};
  unsigned const used = std::max(level, cascading_);
  return {used, digit(t, used)};
}

/// The slot whose timers come first. False: the wheel is empty.
bool timer_wheel::first_place(place& p) noexcept {
  if (cascading_ != 0) {
    p = {cascading_, digit(base_, cascading_)};
    if (at(p).first != nullptr) return true;
    cascading_ = 0;
  }
  for (unsigned level = 0; level != levels; ++level)
    if (filled_[level] != 0) {
      p = {level, static_cast<unsigned>(std::countr_zero(filled_[level]))};
      return true;
    }
  p = {far, 0};
  return far_.first != nullptr;
}

/// The first tick of a slot; for the far list, of the turn of the wheel in which its first timer is due.
timer_wheel::tick timer_wheel::start_of(place p) const noexcept {
  if (p.level == far) return tick_of(far_.least) >> (digit_bits * levels) << (digit_bits * levels);
  unsigned const above = digit_bits * (p.level + 1);
  return (base_ >> above << above) | (tick{p.slot} << (digit_bits * p.level));
}

void timer_wheel::append(timer& t, place p) noexcept {
  list& l = at(p);
  clock_ns const due = to_ns(t.due);
  if (l.first == nullptr) {
    l.first = t.next_ = t.previous_ = &t;
    l.least = due;
    if (p.level != far) filled_[p.level] |= std::uint64_t{1} << p.slot;
  } else {
    t.next_ = l.first;
    t.previous_ = l.first->previous_;
    t.previous_->next_ = l.first->previous_ = &t;
    l.least = std::min(l.least, due);
  }
  t.level_ = static_cast<std::uint8_t>(p.level);
  t.slot_ = static_cast<std::uint8_t>(p.slot);
}

void timer_wheel::insert(timer& t) noexcept {
  RUBATO_ASSERT(!is_linked(t), "a timer was armed twice", t.level_);
  append(t, place_of(std::max(tick_of(to_ns(t.due)), base_)));
}

void timer_wheel::erase(timer& t) noexcept {
  place const p{t.level_, t.slot_};
  list& l = at(p);
  if (t.next_ == &t) {
    l.first = nullptr;
    if (p.level != far) filled_[p.level] &= ~(std::uint64_t{1} << p.slot);
  } else {
    if (l.first == &t) l.first = t.next_;
    t.next_->previous_ = t.previous_;
    t.previous_->next_ = t.next_;
  }
  t.level_ = timer::unlinked;
}

/// A new turn of the wheel has begun, for the first time in nine years: no limit on what this moves.
void timer_wheel::scatter_far() noexcept {
  timer* t = std::exchange(far_.first, nullptr);
  t->previous_->next_ = nullptr;
  while (t != nullptr) {
    timer& now = *std::exchange(t, t->next_);
    append(now, place_of(tick_of(to_ns(now.due))));
  }
}

/// The time of the slot has begun: its timers go to lower levels. Returns how many did.
std::size_t timer_wheel::cascade(place p, std::size_t most) noexcept {
  std::size_t n = 0;
  cascading_ = 0;
  for (list& l = at(p); l.first != nullptr; ++n) {
    if (n == most) {
      cascading_ = p.level;
      break;
    }
    timer& t = *l.first;
    erase(t);
    append(t, place_of(std::max(tick_of(to_ns(t.due)), base_)));
  }
  return n;
}

/// The tick of the slot has passed: all of its timers are due.
void timer_wheel::take_all(place p, timer_batch& out, std::size_t& steps) noexcept {
  for (list& l = at(p); l.first != nullptr && steps != 0; --steps) {
    timer& t = *l.first;
    erase(t);
    out.timers[out.size++] = &t;
  }
}

/// The tick of the slot goes on: takes out those timers that are due. It looks at all: so many that this
/// takes long are not due within 65 us of each other.
void timer_wheel::pick(place p, clock_ns now, timer_batch& out, std::size_t steps) noexcept {
  list& l = at(p);
  timer* const last = l.first->previous_;
  clock_ns later = never_ns;
  for (timer* t = l.first;;) {
    timer* const next = t->next_;
    if (clock_ns const due = to_ns(t->due); due > now) {
      later = std::min(later, due);
    } else if (steps == 0) {
      out.more = true;
      return;
    } else {
      erase(*t);
      out.timers[out.size++] = t;
      --steps;
    }
    if (t == last) break;
    t = next;
  }
  l.least = later;
}

void timer_wheel::take_due(clock_ns now, timer_batch& out) noexcept {
  tick const here = std::max(base_, tick_of(now));
  std::size_t steps = timer_batch::most;
  place p{};
  for (;;) {
    if (!first_place(p) || start_of(p) > here) break;
    if (steps == 0) {
      out.more = true;
      return;
    }
    tick const start = start_of(p);
    base_ = std::max(base_, start);
    if (p.level == far) {
      scatter_far();
    } else if (p.level != 0) {
      steps -= cascade(p, steps);
    } else if (start != here) {
      take_all(p, out, steps);
    } else {
      pick(p, now, out, steps);
      break; // all else is later
    }
  }
  base_ = here;
  RUBATO_ASSERT(out.more || now < 0 || earliest() > now, "a timer that is due was left", now, earliest());
}

clock_ns timer_wheel::earliest() const noexcept {
  clock_ns least = far_.first != nullptr ? far_.least : never_ns;
  for (unsigned level = 0; level != levels; ++level)
    if (filled_[level] != 0)
      least = std::min(least, wheel_[level][static_cast<unsigned>(std::countr_zero(filled_[level]))].least);
  return least;
}

void timer_wheel::clear() noexcept {
  for (place p{}; first_place(p);)
    while (at(p).first != nullptr) erase(*at(p).first);
}

} // namespace rubato::detail
