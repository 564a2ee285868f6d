// Fewer slices for a viewer that takes microseconds for each.
#pragma once

#include "trace/reader/timeline/timeline.hpp"

#include <cstddef>

namespace rubato::detail {

/// Joins runs of brief slices on one thread, first those below 10 us, then longer ones, until at most so many
/// are left.
void thin(timeline& t, std::size_t most);

} // namespace rubato::detail
