// Reads a file and counts its identifiers.
#pragma once

#include "per_thread.hpp"
#include "progress.hpp"
#include "shared/system.hpp"
#include "tally.hpp"

#include <cstdint>

namespace identifiers {

/// Reads a regular file; a large one in pieces side by side. `size` is a hint: the file may grow or shrink
/// meanwhile. Throws std::system_error if it cannot be read.
void scan_file(const example::descriptor& file, std::uint64_t size, per_thread<tally>& tallies,
               progress& meter);

/// Reads a stream to its end.
void scan_stream(const example::descriptor& file, per_thread<tally>& tallies, progress& meter);

} // namespace identifiers
