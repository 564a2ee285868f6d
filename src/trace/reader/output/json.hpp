// A trace for chrome://tracing and speedscope.
#pragma once

#include "trace/reader/timeline/timeline.hpp"

#include <string>

namespace rubato::detail {

/// In the Trace Event Format. Without arrows: its viewers do not agree on their numbers.
[[nodiscard]] std::string to_json(timeline const& t);

} // namespace rubato::detail
