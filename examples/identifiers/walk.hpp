// Finds every file and counts its identifiers.
#pragma once

#include "per_thread.hpp"
#include "progress.hpp"
#include "tally.hpp"

#include <string>
#include <vector>

namespace identifiers {

/// Reads everything below the paths on the current pool, and returns when all is done. A file that cannot be
/// read becomes a problem in a tally; only other errors, such as no memory, are thrown.
void walk(const std::vector<std::string>& paths, per_thread<tally>& tallies, progress& meter);

} // namespace identifiers
