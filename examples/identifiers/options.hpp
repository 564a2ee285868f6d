// The options of the command line.
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
  bool live = false;    ///< show what each worker does, on the terminal
  bool baseline = true; ///< count again with one worker, for the speed-up
};

/// The exit status.
enum exit_status : int { all_read = 0, incomplete = 1, usage_error = 2 };

/// Reads the command line. Returns nothing if it asks for help or is wrong: then the text has been printed,
/// and the program ends with `status`.
std::optional<options> parse_options(int argc, const char* const* argv, exit_status& status);

} // namespace identifiers
