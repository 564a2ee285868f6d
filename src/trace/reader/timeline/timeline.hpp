// What the threads did, put together from the events of all rings. docs/design/trace.md
#pragma once

#include "trace/reader/file/recording.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::detail {

/// What a slice of a thread's time is: an activity, or one of the two others.
enum class slice_kind : unsigned char { task, claimed, latent, child, node, copy, member, span, wait, woken };

[[nodiscard]] constexpr bool is_activity(slice_kind k) noexcept { return k < slice_kind::wait; }
/// What a worker finds and runs. A copy is a part of that.
[[nodiscard]] constexpr bool is_work(slice_kind k) noexcept { return k < slice_kind::copy; }
[[nodiscard]] std::string_view word_of(slice_kind k) noexcept;

/// The part of the trace that is looked at, in ns since its start.
struct window {
  std::int64_t from = std::numeric_limits<std::int64_t>::min(), to = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] std::int64_t cut(std::int64_t at) const noexcept { return std::clamp(at, from, to); }
  [[nodiscard]] bool holds(std::int64_t at) const noexcept { return at >= from && at <= to; }
};

/// Times are in ns since the start of the trace.
struct slice {
  std::int64_t begin = 0, end = 0;
  std::int64_t queued = -1; ///< it was ready for so long before it began; -1: unknown
  std::int64_t waited = 0;  ///< of its time: waits in it
  std::int64_t inner = 0;   ///< of its time: activities in it
  std::uint64_t id = 0;
  std::uint32_t name = 0;
  std::uint32_t by = 0;     ///< the name of what made it ready
  std::uint32_t merged = 1; ///< it stands for so many, of the same depth
  slice_kind kind = slice_kind::task;
  unsigned char depth = 0;
  bool open = false; ///< it had not ended when the ring ended

  [[nodiscard]] std::int64_t length() const noexcept { return end - begin; }
  /// The time in which it ran itself.
  [[nodiscard]] std::int64_t self() const noexcept { return length() - waited - inner; }
};

/// What led to a slice: a thread readied it, gave it away, or woke its thread.
struct cause {
  std::int64_t at = 0, to = 0;
  std::uint32_t by_track = 0, on_track = 0;
};

/// The time of a worker in which it ran nothing.
struct idle_time {
  std::int64_t searched = 0;  ///< awake, between two tasks
  std::int64_t woken = 0;     ///< it waited for a CPU
  std::int64_t late = 0;      ///< asleep, while a thread ran what this one took a part of afterwards
  std::int64_t queued = 0;    ///< asleep, while a task was queued
  std::int64_t displaced = 0; ///< asleep, while a thread from outside ran in its place
  std::int64_t no_seat = 0;   ///< asleep, while other threads had all seats of the pool
  std::int64_t nothing = 0;   ///< asleep otherwise

  [[nodiscard]] std::int64_t sum() const noexcept {
    return searched + woken + late + queued + displaced + no_seat + nothing;
  }
};

/// One thread.
struct track {
  std::uint64_t thread = 0;
  std::string name;
  std::vector<slice> slices; ///< by their begin, an outer one before those in it
  std::int64_t first = 0, last = 0;
  bool is_worker = false;
  std::uint64_t lost = 0;               ///< events that were overwritten
  std::uint64_t written = 0;            ///< all events
  double on_cpu = -1, without_cpu = -1; ///< as in recorded_ring
  std::uint64_t switches = 0;           ///< the same
  std::uint64_t parks = 0;              ///< so many of these were sleeps of the pool's
  std::int64_t busy = 0;
  idle_time idle; ///< of a worker
};

/// What came from other threads.
struct transfer_total {
  std::uint64_t handed = 0, taken = 0;  ///< latent jobs, and pieces of loops
  std::uint64_t steals = 0, stolen = 0; ///< of queued tasks: how often, and how many in all
};

/// Waits of one kind, in one kind of work.
struct wait_total {
  std::uint32_t in = 0, reason = 0; ///< names
  std::uint32_t by = 0;             ///< the name of what ended them; 0: unknown
  bool suspended = false;           ///< the coroutine, and not the thread, waited
  std::uint64_t times = 0;
  std::int64_t sum = 0, longest = 0;
};

/// Coroutines of one name, as they went on after a wait.
struct resumed_total {
  std::uint32_t name = 0;
  std::uint64_t times = 0, elsewhere = 0; ///< on another thread than before
};

/// The monitor sent a thread for relief.
struct relief_sent {
  std::int64_t at = 0;
  std::int64_t since = 0, until = 0; ///< of the blocked thread's task
  std::uint32_t on_track = 0;        ///< the blocked thread; if none is, the one that was sent
  std::uint32_t name = 0;            ///< of the blocked thread's task
  bool is_blocked = false;           ///< a thread is blocked in the kernel; else all compute
};

/// A thread returned from a wait, found no seat free, and ran on without one.
struct unseated_return {
  std::int64_t at = 0;
  std::uint32_t on_track = 0;
  std::uint32_t name = 0; ///< of what it runs
};

/// How a viewer shows the two, at a moment.
[[nodiscard]] constexpr std::string_view text_of(relief_sent const& r) noexcept {
  return r.is_blocked ? "blocked in the kernel: another thread is sent" : "sent, since all workers compute";
}
[[nodiscard]] constexpr std::string_view text_of(unseated_return const& /*r*/) noexcept {
  return "no seat is free: it runs on without one";
}

/// A part of the life of the coroutine that was asked for.
struct stretch {
  enum class state : unsigned char { runs, suspended, queued };
  state is = state::runs;
  bool open = false; ///< it had not ended when the recording ended
  std::int64_t begin = 0, end = 0;
  std::uint32_t on_track = 0; ///< where it ran, was suspended, or was made ready
  std::uint32_t name = 0;     ///< of the coroutine; if it is suspended, of what it awaits
  std::uint32_t by = 0;       ///< what ended the wait, or made it ready
};

/// What had not ended when the recording ended.
struct unfinished {
  enum class state : unsigned char { runs, waits, suspended, queued };
  state is = state::runs;
  std::uint32_t name = 0, reason = 0;
  std::int64_t since = 0;
  std::uint32_t on_track = 0; ///< where it runs, was suspended, or was made ready
  std::uint64_t id = 0;       ///< of a suspended coroutine; see coroutine_address()
};

/// dump() and the debugger print the address of a coroutine's state. Events have that of the task in it,
/// which lies behind the pointer to the virtual functions.
[[nodiscard]] constexpr std::uint64_t coroutine_address(std::uint64_t id) noexcept {
  return id - sizeof(void*);
}

struct timeline {
  std::int64_t start_ns = 0; ///< CLOCK_MONOTONIC
  window part;               ///< all of it, unless a part was asked for
  std::uint64_t process = 0, untraced = 0;
  std::vector<std::string> names; ///< number 0 is the empty one
  std::vector<track> tracks;
  std::vector<cause> causes;
  transfer_total transfers;
  std::vector<wait_total> waits; ///< the most time first
  std::vector<resumed_total> resumed;
  std::vector<relief_sent> reliefs; ///< in order
  std::vector<unseated_return> unseated;
  std::vector<unfinished> at_the_end; ///< the oldest first
  std::vector<stretch> coroutine;     ///< of the one that was asked for, in order
  std::vector<std::string> changed;   ///< files without names: they are others than when it was recorded
  std::int64_t span = 0;              ///< the realised critical path

  [[nodiscard]] std::int64_t first() const noexcept;
  [[nodiscard]] std::int64_t last() const noexcept;
};

/// Of a part, what its events tell: slices that reach beyond it are cut. How each thread and each coroutine
/// stood at its beginning comes from the events before. `coroutine`: the address of one of which all
/// stretches are wanted, see coroutine_address(); 0: of none.
[[nodiscard]] timeline make_timeline(recording const& from, window part = {}, std::uint64_t coroutine = 0);

} // namespace rubato::detail
