// How many CPUs this process may use: the affinity mask and the quotas of its control groups.
//
// `root` stands for "/" wherever it appears, so that tests can make up a machine.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace rubato::os {

/// max(1, min(cpus, ceil(quota))): a quota of half a CPU still needs one thread, one of 2.5 is used up by
/// three.
unsigned usable_cpus(std::size_t cpus, std::optional<double> quota) noexcept;

/// The above for this process. Never 0.
unsigned usable_cpus(std::filesystem::path const& root = "/");

} // namespace rubato::os
