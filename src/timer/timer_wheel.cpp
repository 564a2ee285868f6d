#include "timer/timer_wheel.hpp"

namespace rubato::detail {

/// The slot whose timers come first. False: the wheel is empty.
bool timer_wheel::first_slot(unsigned& slot) noexcept {
  if (cascading_ != 0) {
    slot = slot_on(cascading_, base_);
    if (slots_[slot].first != nullptr) return true;
    cascading_ = 0;
  }
  for (unsigned level = 0; level != levels; ++level)
    if (filled_[level] != 0) {
      slot = level * slots_in_level + static_cast<unsigned>(std::countr_zero(filled_[level]));
      return true;
    }
  return false;
}

/// The first tick of a slot.
timer_wheel::tick timer_wheel::start_of(unsigned slot) const noexcept {
  unsigned const level = level_of(slot), above = digit_bits * (level + 1);
  return (base_ >> above << above) | (tick{slot % slots_in_level} << (digit_bits * level));
}

/// The time of the slot has begun: its timers go to lower levels. Returns how many did.
std::size_t timer_wheel::cascade(unsigned slot, std::size_t most) noexcept {
  std::size_t n = 0;
  cascading_ = 0;
  for (list& l = slots_[slot]; l.first != nullptr; ++n) {
    if (n == most) {
      cascading_ = level_of(slot);
      break;
    }
    timer& t = *l.first;
    erase(t);
    insert(t);
  }
  return n;
}

/// The tick of the slot has passed: all of its timers are due.
void timer_wheel::take_all(unsigned slot, timer_batch& out, std::size_t& steps) noexcept {
  for (list& l = slots_[slot]; l.first != nullptr && steps != 0; --steps) {
    timer& t = *l.first;
    erase(t);
    out.timers[out.size++] = &t;
  }
}

/// The tick of the slot goes on: takes out those timers that are due. Looks at all of them: a tick is 65 us
/// long, and so many timers that this takes long are not due within one.
void timer_wheel::pick(unsigned slot, clock_ns now, timer_batch& out, std::size_t steps) noexcept {
  list& l = slots_[slot];
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
  for (unsigned slot = 0; first_slot(slot);) {
    tick const start = start_of(slot);
    if (start > here) break;
    if (steps == 0) {
      out.more = true;
      return;
    }
    base_ = std::max(base_, start);
    if (level_of(slot) != 0) {
      steps -= cascade(slot, steps);
    } else if (start != here) {
      take_all(slot, out, steps);
    } else {
      pick(slot, now, out, steps);
      break; // all else is later
    }
  }
  base_ = here;
  RUBATO_ASSERT(out.more || now < 0 || earliest() > now, "a timer that is due was left", now, earliest());
}

clock_ns timer_wheel::earliest() const noexcept {
  clock_ns least = never_ns;
  for (unsigned level = 0; level != levels; ++level)
    if (filled_[level] != 0)
      least = std::min(
          least,
          slots_[level * slots_in_level + static_cast<unsigned>(std::countr_zero(filled_[level]))].least);
  return least;
}

void timer_wheel::clear() noexcept {
  for (unsigned slot = 0; first_slot(slot);)
    while (slots_[slot].first != nullptr) erase(*slots_[slot].first);
}

} // namespace rubato::detail
