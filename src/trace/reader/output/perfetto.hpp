// A trace for https://ui.perfetto.dev, in its own format.
#pragma once

#include "trace/reader/timeline/timeline.hpp"

#include <string>

namespace rubato::detail {

/// A sequence of packets: a part of it is a trace, too.
[[nodiscard]] std::string to_perfetto(timeline const& t);

} // namespace rubato::detail
