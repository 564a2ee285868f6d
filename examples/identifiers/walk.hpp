// Finds every file and has it counted.
#pragma once

#include "per_thread.hpp"
#include "progress.hpp"
#include "tally.hpp"

#include <string>
#include <vector>

namespace identifiers {

/// Reads everything below the paths on the current pool, and returns when all is done. What cannot be read
/// becomes a problem in a tally; only what is no matter of a file (no memory) is thrown.
void walk(const std::vector<std::string>& paths, per_thread<tally>& tallies, progress& meter);

} // namespace identifiers
