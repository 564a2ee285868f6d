#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bench {

/// The q-quantile (0 ... 1) by nearest rank; 0 for no values.
inline double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(last * q + 0.5)];
}

} // namespace bench
