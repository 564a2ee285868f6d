// What the user asked for.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace identifiers {

struct options {
  std::vector<std::string> paths;
  unsigned workers = 0;
  std::size_t top = 20; ///< how many identifiers to print, the most frequent first
  bool json = false;
  bool baseline = true; ///< count again with one worker, for the speed-up
};

/// What main returns.
enum exit_status : int { all_read = 0, incomplete = 1, usage_error = 2 };

/// Reads the command line. Without a value the program is to end with `status`: help was asked for, or the
/// command line is wrong, and that has been printed.
std::optional<options> parse_options(int argc, const char* const* argv, exit_status& status);

} // namespace identifiers
