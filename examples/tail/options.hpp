// The options of the command line.
#pragma once

#include "experiment.hpp"
#include "work.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tail {

struct options {
  workload load;
  std::vector<strategy> strategies;
  schedule when;
  unsigned workers = 0;
  std::vector<std::string> replicas; ///< servers to ask; empty: it computes
  std::string user = "ada";
  std::string csv; ///< files; empty: none
  std::string svg;
  std::string work_svg;
};

enum exit_status : int { measured = 0, failed = 1, usage_error = 2 };

/// Reads the command line. Returns nothing if it asks for help or is wrong: then the text has been printed,
/// and the program ends with `status`.
std::optional<options> parse_options(int argc, const char* const* argv, int& status);

} // namespace tail
