// Why the workers were idle. docs/design/trace.md, "The report"
#pragma once

#include "trace/reader/timeline/timeline.hpp"

#include <cstdint>
#include <map>
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

/// Whether a pool has a free seat: from events that tell of the first one and the last one.
class seats_of_pool {
  std::int64_t since_ = 0; // what is so now is so since then
  bool is_known_ = false, is_any_free_ = false;

public:
  std::vector<interval> taken; ///< when no seat was free

  /// `at` is not before that of the call before. What was so before the first event is the opposite of it.
  void change(bool is_any_free, std::int64_t at);
  void end(std::int64_t at) {
    if (is_known_ && !is_any_free_) change(true, at);
  }
};

/// What the other threads did while workers slept.
struct beside_sleeps {
  std::vector<guest_time> guests;
  std::vector<interval> queued;                 ///< a task was ready that another thread began
  std::map<std::uint64_t, seats_of_pool> seats; ///< by pool
};

/// Adds to the idle times of the tracks.
void explain_sleeps(std::vector<track>& tracks, std::vector<sleep_of_worker> sleeps, beside_sleeps beside);

} // namespace rubato::detail
