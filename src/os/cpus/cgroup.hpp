// The quotas of the process's control groups. `root` as in cpus.hpp.
#pragma once

#include <filesystem>
#include <optional>

namespace rubato::os {

/// The CPU time per second of wall clock that the control groups grant, in CPUs: the least of cpu.max (v2)
/// and cpu.cfs_quota_us / cpu.cfs_period_us (v1) over the process's own group and all its visible ancestors.
/// Nothing if there is no limit. Whatever is missing or makes no sense counts as no limit.
std::optional<double> cgroup_quota(std::filesystem::path const& root = "/");

} // namespace rubato::os
