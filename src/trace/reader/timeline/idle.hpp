// Why the workers were idle. docs/design/trace.md, "The report"
#pragma once

#include "trace/reader/timeline/timeline.hpp"

#include <cstdint>
#include <vector>

namespace rubato::detail {

struct interval {
  std::int64_t from = 0, to = 0;
};

/// A worker slept.
struct sleep_of_worker {
  std::uint64_t pool = 0;
  std::uint32_t track = 0;
  interval time;
  std::int64_t late_from = 0; ///< from here to the end another thread ran what it took a part of then
};

/// A thread from outside ran in a pool.
struct guest_time {
  std::uint64_t pool = 0;
  interval time;
};

/// Adds to the idle times of the tracks. `queued`: when a task was ready that another thread began.
void explain_sleeps(std::vector<track>& tracks, std::vector<sleep_of_worker> sleeps,
                    std::vector<guest_time> const& guests, std::vector<interval> queued);

} // namespace rubato::detail
