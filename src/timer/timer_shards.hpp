// All timers of the process: one wheel per stripe of threads, each under a lock of its own, and the alarm
// that wakes the firer. docs/design/timers.md
//
// The *armer* links a timer, lowers its shard's `next_due`, then reads `programmed_`. The *firer* stores
// never_ns in `programmed_`, then reads every `next_due`. So the firer sees the deadline, or the armer sees
// never_ns and sets the alarm itself.
#pragma once

#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/base/policy.hpp"
#include "timer/timer_wheel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <utility>

namespace rubato::detail {

template<class Policy, unsigned Shards>
class basic_timer_shards {
  using lock = lock_guard<basic_mutex<Policy>>;
  using atomic_due = typename Policy::template atomic<clock_ns>; // flipped
  /// Zero stands for never: in static storage the shards take no room in the program's file.
  static constexpr clock_ns flip(clock_ns due) noexcept { return due ^ never_ns; }

  struct alignas(64) shard {
    basic_mutex<Policy> guard;
    atomic_due next_due{0}; ///< no timer here is due earlier; changes under the lock
    timer_wheel wheel;      // guarded by `guard`
  };
  std::array<shard, Shards> shards_;
  alignas(64) basic_mutex<Policy> alarm_guard_;
  atomic_due programmed_{0}; ///< when the firer comes by itself; lowered under alarm_guard_

  /// Sets the alarm unless it rings by then. Returns when it does.
  template<class SetAlarm>
  clock_ns program(clock_ns due, SetAlarm& set_alarm) noexcept {
    lock const guard(alarm_guard_);
    // relaxed: a firer that stores never_ns in between looks at the deadlines afterwards. An armer that reads
    // this deadline knows that the firer comes by then, and looks.
    clock_ns const programmed = flip(programmed_.load(std::memory_order_relaxed));
    if (due >= programmed) return programmed;
    // seq_cst: pairs with the start of a reactor, because a caller that finds none afterwards (reactor.md)
    // has stored this before the reactor's first fire() stores never_ns.
    programmed_.store(flip(due), std::memory_order_seq_cst);
    set_alarm(due);
    return due;
  }

  /// By their deadlines; timers of one deadline in the order in which they were armed.
  static void sort(std::span<timer*> batch) noexcept {
    struct entry {
      clock_ns due;
      std::size_t place;
      timer* t;
    };
    std::array<entry, timer_batch::most> entries;
    for (std::size_t i = 0; i != batch.size(); ++i) entries[i] = {to_ns(batch[i]->due), i, batch[i]};
    std::sort(
        entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(batch.size()),
        [](entry const& a, entry const& b) { return a.due != b.due ? a.due < b.due : a.place < b.place; });
    for (std::size_t i = 0; i != batch.size(); ++i) batch[i] = entries[i].t;
  }

  /// Fires the due timers of the shard. Returns when the next timer there may be due.
  clock_ns fire(shard& s, clock_ns now) noexcept {
    for (;;) {
      // seq_cst: pairs with arm(), see the head of this file.
      if (clock_ns const next = flip(s.next_due.load(std::memory_order_seq_cst)); next > now) return next;
      timer_batch batch;
      std::size_t claimed = 0;
      {
        lock const guard(s.guard);
        s.wheel.take_due(now, batch);
        for (std::size_t i = 0; i != batch.size; ++i)
          if (batch.timers[i]->claim()) batch.timers[claimed++] = batch.timers[i];
        // relaxed: an armer lowers it under the same lock; to another firer an old value is only too early.
        s.next_due.store(flip(s.wheel.earliest()), std::memory_order_relaxed);
      }
      std::span<timer*> const due(batch.timers.data(), claimed);
      sort(due);
      for (timer* const t : due) t->fire(); // by now none of them is linked, and each may end in its call
    }
  }

public:
  /// `set_alarm(due)` makes a thread call fire() at that time, or earlier; it is called under a lock.
  template<class SetAlarm>
  void arm(timer& t, unsigned in_shard, SetAlarm set_alarm) noexcept {
    clock_ns const due = to_ns(t.due); // once it is linked, the timer may fire and be gone
    shard& s = shards_[in_shard];
    bool earlier = false;
    {
      lock const guard(s.guard);
      // seq_cst: pairs with disarm(), because a stop request notes itself before it disarms, and the thread
      // that arms looks for that note afterwards (Dekker, suspension.hpp): the request finds the timer, or
      // this thread finds the request. A timer that was armed in this shard before needs no store: the
      // earlier one comes before the look, too.
      if (t.shard_.load(std::memory_order_relaxed) != in_shard)
        t.shard_.store(static_cast<std::uint16_t>(in_shard), std::memory_order_seq_cst);
      s.wheel.insert(t);
      earlier = due < flip(s.next_due.load(std::memory_order_relaxed)); // relaxed: changes under the lock
      // seq_cst, both: pair with fire(), because the firer stores never_ns before it reads next_due (Dekker).
      if (earlier) s.next_due.store(flip(due), std::memory_order_seq_cst);
    }
    if (earlier && due < flip(programmed_.load(std::memory_order_seq_cst)))
      static_cast<void>(program(due, set_alarm));
  }

  /// False: the timer is not armed, or the firer has taken it out.
  [[nodiscard]] bool disarm(timer& t) noexcept {
    std::uint16_t const in_shard = t.shard_.load(std::memory_order_seq_cst); // pairs with arm()
    if (in_shard == timer::no_shard) return false;
    shard& s = shards_[in_shard];
    lock const guard(s.guard);
    if (!timer_wheel::is_linked(t)) return false;
    s.wheel.erase(t); // next_due stays: the firer may come once in vain
    return true;
  }

  /// Fires the due timers of the first `used` shards. Returns when to come back: the next deadline, or
  /// `latest` if that is earlier.
  template<class SetAlarm>
  clock_ns fire(unsigned used, clock_ns now, clock_ns latest, SetAlarm set_alarm) noexcept {
    // seq_cst: pairs with arm(), because it comes before the looks at every next_due.
    programmed_.store(flip(never_ns), std::memory_order_seq_cst);
    clock_ns next = latest;
    for (shard& s : std::span(shards_).first(used)) next = std::min(next, fire(s, now));
    return program(next, set_alarm);
  }

  /// Takes the timers for which `wanted` is true out of the first `used` shards, and passes each to `end`,
  /// without locks. It may miss a timer that is armed meanwhile. In time linear in the number of all timers.
  template<class Wanted, class End>
  void take_out(unsigned used, Wanted wanted, End end) noexcept {
    for (shard& s : std::span(shards_).first(used))
      for (unsigned level = timer_wheel::all_levels; level-- != 0;) { // downwards, as timers move
        timer* taken = nullptr;
        {
          lock const guard(s.guard);
          taken = s.wheel.take_out(level, wanted);
        }
        while (taken != nullptr) end(*std::exchange(taken, taken->next_));
      }
  }

  // Around fork(): the child has no timers.
  void lock_all() noexcept RUBATO_NOT_ANALYSED {
    for (shard& s : shards_) s.guard.lock();
    alarm_guard_.lock();
  }
  void unlock_all() noexcept RUBATO_NOT_ANALYSED {
    alarm_guard_.unlock();
    for (shard& s : shards_) s.guard.unlock();
  }
  /// Under the locks.
  void clear() noexcept {
    for (shard& s : shards_) {
      s.wheel.clear();
      s.next_due.store(flip(never_ns), std::memory_order_relaxed);
    }
    programmed_.store(flip(never_ns), std::memory_order_relaxed);
  }
};

} // namespace rubato::detail
