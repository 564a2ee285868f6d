// The events of all threads, as they followed each other.
#pragma once

#include "trace/reader/file/recording.hpp"

#include <cstdint>
#include <vector>

namespace rubato::detail {

struct event_place {
  std::int64_t at; ///< ns since the start
  std::uint32_t ring, index;
};

/// In the order of their times. A `wake` whose time is later than that of the `unparked` that it caused comes
/// at the same time, before it. Free seats have changed a while before that was noted.
[[nodiscard]] std::vector<event_place> in_order(recording const& from);

} // namespace rubato::detail
