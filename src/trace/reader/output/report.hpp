// What a trace says, in words.
#pragma once

#include "trace/reader/timeline/timeline.hpp"

#include <string>

namespace rubato::detail {

/// Busy time and span; tasks by name; the grain, with a verdict; idle time by its reason; waits.
[[nodiscard]] std::string report_of(timeline const& t);

/// The life of the coroutine that was asked for.
[[nodiscard]] std::string coroutine_report_of(timeline const& t);

} // namespace rubato::detail
