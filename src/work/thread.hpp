// A thread that belongs to a pool: worker, spare or guest.
#pragma once

#include "os/clock.hpp"
#include "os/thread.hpp"
#include "rubato/detail/member.hpp"
#include "rubato/detail/mutex.hpp"
#include "sync/roster.hpp"
#include "work/counters.hpp"
#include "work/seat.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rubato::detail {

class scope_core;

struct pool_thread final : member, roster_thread {
  // Requests for work.
  mailbox box;
  unsigned next_victim = 0;  ///< where the next search begins
  os::ticks steal_after = 0; ///< see learn()
  os::ticks pause = 0;
  // How often it has begun or ended a task: odd while it runs one. Written by itself.
  std::atomic<unsigned> boundaries{0};
  unsigned looks = 0;        ///< for a task, so far
  unsigned slot_runs = 0;    ///< how many in a row came from the slot
  os::ticks local_since = 0; ///< when the oldest of an unbroken run of own tasks began

  // Claims of work that is queued.
  static constexpr std::size_t stale_at_least = 256;
  unsigned claims = 0;                       ///< nested in each other now
  std::size_t stale = 0;                     ///< since the last sweep
  std::size_t stale_enough = stale_at_least; ///< for the next

  // Scopes that were opened here and have a child that has not begun; see scopes.md.
  mutex scopes_mutex;                 // taken before a scope's own
  scope_core* oldest_scope = nullptr; // guarded by scopes_mutex, as is the next
  scope_core* newest_scope = nullptr;
  std::atomic<unsigned> open_scopes{0}; // how many; a hint for searchers

  // The system's thread.
  os::thread handle;
  pool_thread* next_to_make = nullptr; // in the watch's list
  std::atomic<os::thread_id> tid{0};
  int pinned_to = -1;
  bool resting = true;              ///< went idle and has not noticed a call since; its own note
  std::atomic<bool> worker{false};  ///< made by the pool; else a guest
  std::atomic<bool> exiting{false}; ///< to end when idle
  std::atomic<bool> relief{false};  ///< called for relief: runs ready tasks without a seat
  pool_thread* relieves = nullptr;  ///< whose substitute it is; null: the one extra thread
  unsigned boundaries_then = 0;     ///< of that thread, or of all others, when it was called
  member* outer = &outside;         ///< who it was, perhaps in another pool, when it joined this one

  // What it waits for, for the stall report; written by itself.
  std::atomic<char const*> waits_in{nullptr};
  std::atomic<member const*> waits_for{nullptr};
  std::atomic<os::ticks> waits_since{0};

  // While it waits in another pool, as a member of which it has another record.
  unsigned waits_elsewhere = 0; ///< nested in each other
  seat* left = nullptr;         ///< the seat that it had here; null: none

  seat* own_seat = nullptr;              ///< temporary, made when it first drives an empty pool
  counters counts;                       ///< exact; a seat's are those of its occupants
  struct {                               // the watch's notes
    os::thread_id tid = 0;               ///< which thread they are of
    unsigned boundaries = 0;             ///< at the last look
    std::chrono::nanoseconds cpu{};      ///< at the last look
    std::chrono::nanoseconds cpu_then{}; ///< at the first look that saw these boundaries
    os::ticks at = 0;                    ///< the last look
    bool substituted = false;            ///< a thread runs in its place
  } seen;

  void* memory = nullptr; ///< of the chain
  std::size_t memory_bytes = 0;

  /// What was taken from another thread ran for so long. Taking disturbs its owner: as long as it brings less
  /// than that costs, this thread asks less and less often.
  void learn(os::ticks ran, os::ticks worth) noexcept {
    pause = ran >= worth ? 0 : std::clamp(2 * pause, worth / 2, 16 * worth);
    steal_after = os::now() + pause;
  }
  [[nodiscard]] seat* sits_on() const noexcept {
    // acquire: pairs with the roster's assignment.
    return static_cast<seat*>(place.load(std::memory_order_acquire));
  }
  /// It begins or ends a task, not one within another. relaxed, both: a count with one writer.
  void pass_boundary() noexcept {
    boundaries.store(boundaries.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  [[nodiscard]] static bool is_in_task(unsigned at_boundaries) noexcept { return at_boundaries % 2 != 0; }
  void bump(counted c) noexcept {
    counts.bump(c);
    if (seat* s = sits_on()) s->counts.bump(c);
  }
};

[[nodiscard]] inline pool_thread& thread_of(member& m) noexcept { return static_cast<pool_thread&>(m); }
[[nodiscard]] inline pool_thread& thread_of(roster_thread& t) noexcept {
  return static_cast<pool_thread&>(t);
}

} // namespace rubato::detail
