// One thread per process that never runs user code: it finds work that no other thread looks for.
// docs/design/monitor.md
#pragma once

namespace rubato::detail {

/// Starts its thread, unless it runs already. Under the lock of the registry of pools, which it walks. Throws
/// std::system_error.
void start_monitor();

/// In the child of a fork(), which has no monitor. Under the lock of the registry of pools.
void forget_monitor() noexcept;

} // namespace rubato::detail
