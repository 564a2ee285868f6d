// What an additional thread runs, which the monitor has sent for relief. docs/design/monitor.md
#pragma once

namespace rubato::detail {

class pool_core;
struct pool_thread;

/// Runs ready tasks without a seat, as long as it is wanted: never beside `size()` threads that make
/// progress.
void relieve(pool_core& core, pool_thread& t) noexcept;

} // namespace rubato::detail
