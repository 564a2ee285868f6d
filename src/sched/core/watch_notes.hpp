// What the monitor has noted of a pool at its last looks. Only the monitor's thread touches it.
// docs/design/monitor.md
#pragma once

#include "os/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rubato::detail {

struct watch_notes {
  /// The queues, in pushed_then. The seats follow.
  enum queue_index : std::size_t { injector, event_lane, high, high_events, low, first_seat };

  bool latent_seen = false;
  // The backlog
  os::ticks queues_noted = 0;             ///< when pushed_then was taken; 0: never
  std::vector<std::uint64_t> pushed_then; ///< by queue
  // Stalls. A jam: tasks are ready, but every thread waits, and no thread is left for the tasks.
  unsigned stalled_looks = 0;
  std::uint64_t stall_epoch = 0;
  os::ticks jammed_since = 0; ///< 0: it is not
  std::uint64_t jam_epoch = 0;
  bool jam_told = false; ///< in this epoch

  explicit watch_notes(unsigned most_seats) { pushed_then.reserve(most_seats + first_seat); }
};

} // namespace rubato::detail
