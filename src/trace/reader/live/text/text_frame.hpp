// A picture as lines of text. docs/design/live.md
#pragma once

#include "trace/reader/live/live_picture.hpp"
#include "trace/reader/live/text/text_style.hpp"

#include <string>
#include <vector>

namespace rubato::detail {

/// No line is longer than the style's columns, and there are no more of them than its rows.
[[nodiscard]] std::vector<std::string> frame_of(live_picture const& p, text_style const& style);

} // namespace rubato::detail
