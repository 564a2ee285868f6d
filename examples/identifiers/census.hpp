// One count of a tree, from the walk to the sorted table.
#pragma once

#include "tally.hpp"
#include "word_table.hpp"

#include <rubato/pool.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace identifiers {

struct census {
  counters seen;
  std::vector<problem> problems; ///< by path
  std::uint64_t distinct = 0;
  std::uint64_t total = 0;
  std::vector<word> top;    ///< the most frequent first, those of equal count in the order of their bytes
  std::vector<arena> texts; ///< what `top` refers to
  double seconds = 0;
};

/// Counts on the pool; the calling thread works along.
census take_census(rubato::pool& pool, const std::vector<std::string>& paths, std::size_t top,
                   const std::string& label);

} // namespace identifiers
