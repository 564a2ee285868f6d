// What a pool has done so far.
#pragma once

#include "rubato/detail/config.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rubato {

/// Counts since the pool was made. Read while the pool works they are each exact but not of one moment.
struct seat_stats {
  std::uint64_t executed = 0;  ///< tasks begun
  std::uint64_t spawned = 0;   ///< tasks queued by tasks
  std::uint64_t handed = 0;    ///< latent jobs and pieces of loops that busy threads handed over on request
  std::uint64_t taken = 0;     ///< the same, taken without their help
  std::uint64_t stolen = 0;    ///< tasks from another seat's queue, children from another thread's scope
  std::uint64_t parked = 0;    ///< sleeps for want of work
  std::uint64_t woken = 0;     ///< wakes of a sleeping worker
  std::uint64_t vacated = 0;   ///< waits that left the seat
  std::uint64_t relieved = 0;  ///< tasks begun by relief, because they had been ready for 10 ms
  std::uint64_t timers = 0;    ///< timers that fired; of the pool alone, they belong to no seat
  std::uint64_t io_events = 0; ///< events from the kernel
};

struct pool_stats : seat_stats {
  std::vector<seat_stats> seats;
  std::size_t spares = 0;      ///< threads beyond size() that exist now
  std::size_t queued = 0;      ///< tasks that have not begun
  std::uint64_t contended = 0; ///< requests and takes that failed because somebody else was at it
};

} // namespace rubato
