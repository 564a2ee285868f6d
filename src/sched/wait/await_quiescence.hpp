// wait_idle(): until nothing is left to do in a pool. docs/design/lifecycle.md
#pragma once

#include <chrono>

namespace rubato::detail {

class pool_core;

/// False: the deadline has passed. `or_closed`: or until the pool is closed and none of its timers is armed.
/// In a pool without workers the caller runs ready tasks. Throws std::system_error from a task of the pool.
bool await_quiescence(pool_core& core, std::chrono::steady_clock::time_point deadline,
                      bool or_closed = false);

} // namespace rubato::detail
