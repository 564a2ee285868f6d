// Which tasks blocked their threads in the kernel, as the monitor saw it. docs/design/trace.md, "The report"
#pragma once

#include "trace/reader/file/recording.hpp"
#include "trace/reader/timeline/timeline.hpp"

#include <string_view>

namespace rubato::detail {

/// Fills `t.reliefs` from the events of kind `relief`; the slices are there.
void add_reliefs(timeline& t, recording const& from);

/// How a viewer shows it.
[[nodiscard]] constexpr std::string_view text_of(relief_sent const& r) noexcept {
  return r.is_blocked ? "blocked in the kernel: another thread is sent" : "sent, since all workers compute";
}

} // namespace rubato::detail
