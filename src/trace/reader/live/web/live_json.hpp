// A picture as JSON, for the page. docs/design/live.md
#pragma once

#include "trace/reader/live/live_picture.hpp"

#include <string>

namespace rubato::detail {

/// Bytes of names that are no printable ASCII become '?'.
[[nodiscard]] std::string json_of(live_picture const& p);

} // namespace rubato::detail
