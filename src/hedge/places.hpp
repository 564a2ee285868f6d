// On which CPUs the copies of a call run. docs/design/hedging.md
#pragma once

#include "os/cpus/topology.hpp"

#include <span>

namespace rubato::detail {

/// What is known of the caller.
struct caller_place {
  int cpu = -1;           ///< where it runs now; -1: unknown
  bool runs_copy = false; ///< the first copy is its own, and stays there
};

/// Fills `places` with CPUs of `order` (os::in_placement_order), each at most once as long as there are
/// enough: the least used core first, the caller's core last; then, with `in_turn`, the least used memory
/// node, else the caller's; then by `order`. O(places x order).
void choose_places(std::span<os::cpu const> order, caller_place caller, bool in_turn, std::span<int> places);

} // namespace rubato::detail
