// Counters of a pool.
//
//   #include <rubato/pool.hpp>
//   #include <rubato/stats.hpp>
//
//   #include <cstdio>
//
//   int main() {
//     rubato::pool pool(2);
//     for (int i = 0; i != 10; ++i) pool.enqueue([] {});
//     pool.wait_idle();
//     rubato::pool_stats const s = pool.stats();
//     std::printf("%d begun, %zu queued\n", int(s.executed), s.queued); // -> 10 begun, 0 queued
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/priority.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace rubato {

/// Counts since the pool was made. Each count is exact. While the pool works, the counts are not all from the
/// same moment, but the counts of the seats never add up to more than the total. The total also counts
/// threads without a seat.
struct seat_stats {
  std::uint64_t executed = 0; ///< tasks begun
  std::uint64_t spawned = 0;  ///< tasks queued by tasks
  std::uint64_t handed = 0;   ///< latent jobs and chunks of loops that busy threads handed over on request
  std::uint64_t taken = 0;    ///< latent jobs and chunks that thieves took without the owner's help
  std::uint64_t stolen =
      0; ///< tasks from another seat's queue or LIFO slot, children of scopes, by a searcher
  std::uint64_t parked = 0;    ///< sleeps for want of work
  std::uint64_t woken = 0;     ///< wakes of a sleeping worker
  std::uint64_t vacated = 0;   ///< waits that left the seat
  std::uint64_t relieved = 0;  ///< tasks begun by relief, because they had been ready for 10 ms
  std::uint64_t timers = 0;    ///< timers that fired; counted for the pool only
  std::uint64_t io_events = 0; ///< events from the kernel
};

/// The tasks of one priority.
struct priority_stats {
  std::uint64_t executed = 0; ///< tasks that a thread took from a queue and began
  std::size_t queued = 0;     ///< not begun; normal includes tasks that have no priority, such as routines
};

/// The sums over all seats of a pool, and the pool's own counters.
struct RUBATO_API pool_stats : seat_stats {
  std::string name;              ///< of the pool
  std::vector<seat_stats> seats; ///< one for each seat
  std::size_t spares = 0;        ///< threads beyond size() that exist now
  std::size_t stragglers = 0;    ///< losing copies that still run although their hedge() has returned
  std::size_t queued = 0;        ///< tasks that have not begun
  std::uint64_t contended = 0;   ///< steals of latent jobs that were not tried: another thief was at it
  std::array<priority_stats, 3> priorities{}; ///< parts of `executed` and `queued`; see of()

  /// The part of one priority.
  [[nodiscard]] priority_stats const& of(priority p) const noexcept {
    return priorities[static_cast<std::size_t>(p)];
  }

  /// Writes the sums in Prometheus' text format (version 0.0.4): counters
  /// `rubato_executed_total{pool="name"}` and so on, and gauges such as `rubato_queued`. Pools of one name
  /// are one to Prometheus. The program serves the text.
  void prometheus(std::ostream& to) const;
  /// The same for several pools, as one text: the format wants all lines of a metric together.
  static void prometheus(std::ostream& to, std::span<pool_stats const> pools);
};

} // namespace rubato
