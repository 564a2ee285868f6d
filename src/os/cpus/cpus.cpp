#include "os/cpus/cpus.hpp"

#include "os/cpus/affinity.hpp"
#include "os/cpus/cgroup.hpp"

#include <algorithm>
#include <cmath>

namespace rubato::os {

unsigned usable_cpus(std::size_t cpus, std::optional<double> quota) noexcept {
  auto const most = std::max<double>(1, static_cast<double>(cpus));
  return static_cast<unsigned>(std::clamp(std::ceil(quota.value_or(most)), 1.0, most));
}

unsigned usable_cpus(std::filesystem::path const& root) {
  return usable_cpus(affinity_cpus().size(), cgroup_quota(root));
}

} // namespace rubato::os
