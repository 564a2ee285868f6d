// The last events of one thread, in a part of the file. docs/design/trace.md
//
// One writer, the thread that owns it. The slots are a circle; `written` counts the events ever written, and
// event n is in slot n mod capacity. A reader drops the oldest slot once the ring has wrapped, because the
// next event may be half written there.
#pragma once

#include "os/clock.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/intrusive_list.hpp"
#include "rubato/detail/trace/event.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace rubato::detail {

/// What stands before the slots in the file.
struct ring_head {
  published<std::uint64_t> written;
  relaxed<std::uint64_t> first; ///< events before this one were of an earlier owner
  relaxed<std::uint64_t> thread, name;
  // Since its ring began, in ns:
  relaxed<std::uint64_t> on_cpu;   ///< for how long the thread has run,
  relaxed<std::uint64_t> ready;    ///< and was ready, and waited for a CPU;
  relaxed<std::uint64_t> of;       ///< the time since then. 0: none of these is known, as after a crash
  relaxed<std::uint64_t> switches; ///< and how often it has waited in the kernel
};

/// The same, as a reader finds it in the file.
struct ring_head_words {
  std::uint64_t written = 0, first = 0, thread = 0, name = 0, on_cpu = 0, ready = 0, of = 0, switches = 0;
};
static_assert(sizeof(ring_head_words) == sizeof(ring_head));

class ring : public list_node<ring> {
public:
  static constexpr std::size_t head_bytes = 4096;
  /// So many events lie between two of the clock.
  static constexpr std::uint64_t clock_every = 4096;

private:
  struct slot {
    relaxed<std::uint64_t> ticks, id, what;
  };
  static_assert(sizeof(slot) == sizeof(trace_event));

  std::byte* const memory_;   // reserved for ever: see recorder.hpp
  std::uint64_t mask_ = 0;    // of a slot's number; 0: it is not traced, and all events go to one slot
  std::uint64_t count_ = 0;   // of the events ever written
  std::uint32_t session_ = 0; // that it is mapped for; 0: none
  unsigned char ended_aux_ = 0;
  std::uint64_t ended_id_ = 0;
  os::ticks ended_at_ = 0; // an `end` that is not written yet; 0: there is none
  // When the ring began: the thread's CPU time, its time without one, CLOCK_MONOTONIC, and its waits in the
  // kernel.
  std::chrono::nanoseconds cpu_before_{}, ready_before_{}, began_{};
  std::uint64_t switches_before_ = 0;
  trace_event place_;   // where its owner is a worker: see recorder.cpp
  os::ticks brief_ = 0; // no end is written if the next activity begins within that time

  [[nodiscard]] ring_head& head() const noexcept { return *reinterpret_cast<ring_head*>(memory_); }
  void put(os::ticks at, std::uint64_t id, std::uint64_t what) noexcept;
  void put_clock() noexcept;
  void put_place() noexcept;

public:
  explicit ring(std::byte* memory) noexcept
      : memory_(memory) {}

  [[nodiscard]] std::byte* memory() const noexcept { return memory_; }
  [[nodiscard]] bool is_of(std::uint32_t session) const noexcept { return session_ == session; }
  /// False: its thread is not traced.
  [[nodiscard]] bool is_mapped() const noexcept { return mask_ != 0; }
  /// It has a new owner, or is mapped anew for its owner. `capacity`, a power of two: 0 if the thread is not
  /// traced. `place`: where the owner is a worker.
  void begin(std::uint32_t session, std::uint64_t capacity, std::uint64_t thread, std::uint64_t thread_name,
             trace_event const& place = {}) noexcept;
  /// While the thread lives, by any thread, but not beside begin().
  void measure_cpu() noexcept;
  /// By the owner.
  void write(event_kind kind, std::uint64_t id, std::uint64_t name, unsigned char aux) noexcept;
};

} // namespace rubato::detail
