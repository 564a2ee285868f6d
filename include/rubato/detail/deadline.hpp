// From a duration to a point in time.
#pragma once

#include <chrono>

namespace rubato::detail {

/// now + d, saturating.
template<class Rep, class Period>
[[nodiscard]] std::chrono::steady_clock::time_point deadline_after(std::chrono::duration<Rep, Period> d) {
  using clock = std::chrono::steady_clock;
  auto const now = clock::now();
  if (d <= d.zero()) return now;
  // Compared as floating point: the duration may be far beyond what the clock can express.
  if (std::chrono::duration<long double>(d) >=
      std::chrono::duration<long double>(clock::time_point::max() - now))
    return clock::time_point::max();
  return now + std::chrono::ceil<clock::duration>(d);
}

} // namespace rubato::detail
