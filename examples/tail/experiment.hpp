// Makes the same calls by each strategy and measures them.
#pragma once

#include "strategy.hpp"
#include "target.hpp"

#include <rubato/pool.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tail {

struct result {
  std::string name;
  std::vector<double> milliseconds; ///< of each call, ascending
  double copies = 0;                ///< begun, per call
  double cpu_milliseconds = 0;      ///< of the whole process, per call, losers included

  /// The latency that this share of the calls did not exceed: an exact quantile.
  double quantile(double share) const;
};

/// How many calls, and when.
struct schedule {
  std::uint64_t calls = 100'000;
  std::chrono::nanoseconds every{0}; ///< from the begin of a call to that of the next; 0: one after the other
};

/// The strategies take turns, a block of calls each, so that a slow minute of the machine falls on all of
/// them. If calls begin by the clock, a latency is measured from the time when the call was due: a call that
/// has to wait for its predecessor has waited.
std::vector<result> measure(rubato::pool& pool, target& called, const std::vector<strategy>& strategies,
                            const schedule& when);

} // namespace tail
