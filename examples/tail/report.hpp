// The results as text: a table, a histogram for the terminal, CSV.
#pragma once

#include "experiment.hpp"

#include <string>
#include <vector>

namespace tail {

std::string table(const std::vector<result>& results);
/// A row for each strategy. The columns are latencies, eight for each doubling; a mark's height is the
/// logarithm of the number of calls.
std::string histogram(const std::vector<result>& results);
std::string csv(const std::vector<result>& results);

} // namespace tail
