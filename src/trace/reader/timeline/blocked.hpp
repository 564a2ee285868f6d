// Which tasks blocked their threads in the kernel, as the monitor saw it. docs/design/trace.md, "The report"
#pragma once

#include "trace/reader/file/recording.hpp"
#include "trace/reader/timeline/timeline.hpp"

namespace rubato::detail {

/// Fills `t.reliefs` from the events of kind `relief`; the slices are there.
void add_reliefs(timeline& t, recording const& from);

} // namespace rubato::detail
