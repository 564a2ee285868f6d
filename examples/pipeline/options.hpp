// What the user asked for.
#pragma once

#include <optional>
#include <string>

namespace pipeline {

struct options {
  std::string root;
  std::string manifest; ///< empty: standard output
  unsigned workers = 0;
  unsigned readers = 0; ///< files that are read at a time
  bool json = false;
};

/// What main returns; besides, 128 and the signal that stopped it.
enum exit_status : int { all_read = 0, incomplete = 1, usage_error = 2, stopped = 128 };

/// Reads the command line. Without a value the program is to end with `status`: help was asked for, or the
/// command line is wrong, and that has been printed.
std::optional<options> parse_options(int argc, const char* const* argv, int& status);

} // namespace pipeline
