// The options of the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace algorithms {

struct options {
  std::string algorithm;          ///< the subcommand
  std::uint64_t size = 0;         ///< what it counts, the subcommand says
  std::vector<std::string> files; ///< of `words`
  std::size_t most = 10;          ///< of `words`, and of `pagerank`
  std::uint64_t seed = 0;         ///< of the random input
  unsigned workers = 0;
};

enum exit_status : int { done = 0, failed = 1, usage_error = 2 };

/// Reads the command line. Returns nothing if it asks for help or is wrong: then the text has been printed,
/// and the program ends with `status`.
std::optional<options> parse_options(int argc, const char* const* argv, int& status);

} // namespace algorithms
