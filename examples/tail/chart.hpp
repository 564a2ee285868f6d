// The results as pictures: SVG, without any library.
#pragma once

#include "experiment.hpp"

#include <string>
#include <vector>

namespace tail {

/// Which share of the calls took longer than a time: a line for each strategy, both axes logarithmic.
std::string distribution_chart(const std::vector<result>& results);
/// The copies per call beyond the first against the 99.9th percentile: a point for each strategy.
std::string work_chart(const std::vector<result>& results);

} // namespace tail
