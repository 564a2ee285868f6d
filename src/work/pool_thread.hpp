// The record of a thread in a pool: of a worker, a spare or a guest. docs/design/parking.md
//
// Rules: a plain field is touched by the thread itself, or while it does not run; exceptions say so. Atomics
// are read by any thread.
#pragma once

#include "os/clock.hpp"
#include "os/thread.hpp"
#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/intrusive_list.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "sync/blocking_mark.hpp"
#include "sync/idle_set.hpp"
#include "sync/injector.hpp"
#include "work/counters.hpp"
#include "work/relaxed_text.hpp"
#include "work/seat.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace rubato::detail {

class child_source;
class future_state;
class record_table;
struct pool_thread;
struct task;

/// What a thread that is sent for relief runs. With `blocked`: ready tasks, in place of that thread. Without
/// it: ready tasks, as the extra thread of a pool whose threads all compute. With `events_alone`: only
/// events, because the extra thread computes, too.
struct relief_order {
  pool_thread* blocked = nullptr;
  bool events_alone = false;
};

struct pool_thread final : thread_context, idle_set_thread {
  // Requests for work.
  steal_request box;
  unsigned next_victim = 0;  ///< where its next search of chains or children begins
  os::ticks steal_after = 0; ///< see learn()
  os::ticks pause = 0;
  // How often it has begun or ended a task: odd while it runs one. Written by itself.
  relaxed<unsigned> boundaries;
  unsigned schedule_tick = 0; ///< how often it has looked for a normal task
  unsigned priority_tick = 0; ///< how often it has looked while a task of another priority was queued
  unsigned slot_runs = 0;     ///< how many in a row came from the LIFO slot
  os::ticks event_at = 0;     ///< when an event was last due
  unsigned early_tick = 0;    ///< the turn in which an event or a task of the injector was last due
  os::ticks turn_began = 0;   ///< when a coroutine's turn began whose waits are all ready
  bool ran_event = false;     ///< it took an event last, and not a task of the injector
  os::ticks local_since = 0;  ///< when the time slice of the seat's own tasks began; zero: none is queued

  // Claims of work that is queued.
  static constexpr std::size_t stale_at_least = 256;
  unsigned claims = 0;                       ///< nested in each other now
  std::size_t stale = 0;                     ///< entries that it has left stale since its last sweep
  std::size_t stale_low = 0;                 ///< of those in the queues of low priority
  std::size_t stale_enough = stale_at_least; ///< for the next sweep

  // Scopes that were opened here and have a child that has not begun; see scopes.md.
  mutable mutex scopes_mutex;                                          // taken before a scope's own
  intrusive_list<child_source> scopes RUBATO_GUARDED_BY(scopes_mutex); // the oldest first
  bool departed RUBATO_GUARDED_BY(scopes_mutex) = false;               // its thread has left the pool
  announced<unsigned> open_scopes;                                     // how many; a hint for searchers

  // The system's thread.
  os::thread handle;
  relaxed<os::thread_id> tid;
  int pinned_to = -1, refused_cpu = -1;
  bool resting = true;             ///< went idle and has not noticed a call since; its own note
  std::atomic<bool> worker{false}; ///< made by the pool; else a guest
  bool counts_as_worker = false;   ///< a guest that takes the place of a worker
  flag exiting;                    ///< to end when idle
  flag relief;                     ///< sent for relief: runs ready tasks without a seat
  /// A task that it is to run without a seat. The sender puts it there before it wakes the thread or makes
  /// it.
  single_slot<task> aside;
  injector calls;                   ///< that this thread is to run: sched/run/own_calls.hpp
  bool takes_calls = false;         ///< the registry's mutex guards it
  bool spins_first = false;         ///< it has run such a task: it waits awake for the next one, for a while
  relief_order relieves;            ///< what it was sent for
  unsigned boundaries_then = 0;     ///< of the blocked thread, or of all others, when it was sent
  record_table* table = nullptr;    ///< where it is listed
  thread_context* outer = &outside; ///< its context, perhaps in another pool, before it joined this one

  char const* node = nullptr; ///< the name of the graph's node that it runs; null: of none, or it has no name

  // What it waits for, for the stall report; written by itself.
  relaxed_text waits_in_node; ///< as `node`, while it waits: a reader must not follow that
  relaxed<char const*> waits_in;
  relaxed<thread_context const*> waits_for;
  relaxed<os::ticks> waits_since;

  blocking_mark blocks_on_seat; ///< it is in a blocking region in which it keeps its seat

  // While it waits in another pool, as a member of which it has another record.
  unsigned waits_elsewhere = 0; ///< nested in each other
  seat* left = nullptr;         ///< the seat that it had here; null: none

  seat* own_seat = nullptr;              ///< made when it first drives a pool without workers
  counters counts;                       ///< exact; a seat's are those of its occupants
  struct {                               // the monitor's notes
    os::thread_id tid = 0;               ///< which thread they are of
    unsigned boundaries = 0;             ///< at the last look
    std::chrono::nanoseconds cpu{};      ///< at the last look
    std::chrono::nanoseconds cpu_then{}; ///< at the first look that saw these boundaries
    os::ticks at = 0;                    ///< the last look
    bool substituted = false;            ///< a thread runs in its place
  } seen;

  /// Of a coroutine without a future, blank: for the next one that begins here.
  future_state* spare_coroutine = nullptr;

  void* memory = nullptr; ///< of the chain
  std::size_t memory_bytes = 0;

  /// A stolen job ran for `ran` ticks. A steal disturbs the owner: as long as jobs run for less than `worth`,
  /// this thread steals less and less often.
  void learn(os::ticks ran, os::ticks worth) noexcept {
    pause = ran >= worth ? 0 : std::clamp(2 * pause, worth / 2, 16 * worth);
    steal_after = os::now() + pause;
  }
  [[nodiscard]] seat* sits_on() const noexcept {
    // acquire: pairs with basic_idle_set::assign(), because it writes the seat's occupant first.
    return static_cast<seat*>(place.load(std::memory_order_acquire));
  }
  /// The thread begins or ends a task that is not nested in another. relaxed, both: a count with one writer.
  void pass_boundary() noexcept { boundaries.set(boundaries.get() + 1); }
  [[nodiscard]] static bool is_in_task(unsigned at_boundaries) noexcept { return at_boundaries % 2 != 0; }
  /// By the thread itself, for a count of seats; one of the pool alone is bumped in `counts`. Its own count
  /// before the seat's: see pool_core::stats().
  void bump(counted c, std::uint64_t by = 1) noexcept {
    counts.bump(c, by);
    seat* const s = sits_on();
    if (s == nullptr) return;
    // relaxed: only this thread leaves the seat.
    RUBATO_ASSERT(s->occupant.load(std::memory_order_relaxed) == this, "a thread counts for another's seat",
                  s->occupant.load(std::memory_order_relaxed), s->index);
    s->counts.bump(c, by);
  }
};

/// Is the calling thread a member of this pool, perhaps beneath what it runs in another?
[[nodiscard]] bool is_member(pool_core const& core) noexcept;

[[nodiscard]] inline pool_thread& thread_of(thread_context& m) noexcept {
  return static_cast<pool_thread&>(m);
}
[[nodiscard]] inline pool_thread& thread_of(idle_set_thread& t) noexcept {
  return static_cast<pool_thread&>(t);
}

} // namespace rubato::detail
