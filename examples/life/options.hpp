// The options of the command line.
#pragma once

#include "generation.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace life {

struct options {
  std::size_t rows = 200, columns = 200;
  std::uint64_t frames = 600;
  double rate = 60; ///< frames per second; 0: one after the other
  double density = 0.3;
  std::uint64_t seed = 0;
  way how = way::parallel;
  unsigned workers = 0;
  bool draw = true;
};

enum exit_status : int { done = 0, failed = 1, usage_error = 2 };

/// Reads the command line. Returns nothing if it asks for help or is wrong: then the text has been printed,
/// and the program ends with `status`.
std::optional<options> parse_options(int argc, const char* const* argv, int& status);

} // namespace life
