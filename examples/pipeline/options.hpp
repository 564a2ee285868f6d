// The options of the command line.
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

/// The exit status; a signal that stops the program makes it 128 and the signal's number.
enum exit_status : int { all_read = 0, incomplete = 1, usage_error = 2, stopped = 128 };

/// Reads the command line. Returns nothing if it asks for help or is wrong: then the text has been printed,
/// and the program ends with `status`.
std::optional<options> parse_options(int argc, const char* const* argv, int& status);

} // namespace pipeline
