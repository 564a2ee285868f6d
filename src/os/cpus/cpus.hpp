// How many CPUs this process may use: the affinity mask and the quotas of its control groups.
//
// `root` stands for "/" wherever it appears, so that tests can make up a machine.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace rubato::os {

/// max(1, min(cpus, ceil(quota))): a quota of half a CPU still needs one thread, one of 2.5 is used up by
/// three.
unsigned usable_cpus(std::size_t cpus, std::optional<double> quota) noexcept;

/// The above for this process. Never 0.
unsigned usable_cpus(std::string const& root = "/");

/// The CPU time per second of wall clock that the control groups grant, in CPUs: the least of cpu.max (v2)
/// and cpu.cfs_quota_us / cpu.cfs_period_us (v1) over the process's own group and all its visible ancestors.
/// Nothing if there is no limit. Whatever is missing or makes no sense counts as no limit.
std::optional<double> cgroup_quota(std::string const& root = "/");

} // namespace rubato::os
