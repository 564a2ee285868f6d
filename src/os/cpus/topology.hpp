// Which CPUs share a core, a package, a memory node; and in which order to fill them.
#pragma once

#include "os/cpus/affinity.hpp"

#include <string>
#include <vector>

namespace rubato::os {

struct cpu {
  int id;
  int core; ///< the lowest CPU number of the same physical core: unique in the machine, unlike the kernel's
            ///< core_id
  int package; ///< as the kernel numbers it
  int node;    ///< memory node

  friend bool operator==(cpu const&, cpu const&) = default;
};

/// The CPUs of `cpus` that are online, ascending by id, as sysfs below `root` describes them. Where it says
/// nothing, each CPU is a core of its own in package 0 of node 0.
std::vector<cpu> topology(std::string const& root = "/", std::vector<int> const& cpus = affinity_cpus());

enum class placement_policy {
  cores, ///< the nodes are filled one after the other
  numa,  ///< the nodes take turns
};

/// The order in which seats are pinned, as CPU numbers. Either way every physical core gets its first seat
/// before any gets its second, since two threads on one core share its execution units.
std::vector<int> placement_order(std::vector<cpu> cpus, placement_policy policy);
/// The same with all that is known of each CPU.
std::vector<cpu> in_placement_order(std::vector<cpu> cpus, placement_policy policy);

} // namespace rubato::os
