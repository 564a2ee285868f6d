// What the first pool of a process sets up, and what fork() leaves of it. docs/design/lifecycle.md
#pragma once

namespace rubato::detail {

class pool_core;

/// Lists the pool. The first one starts the monitor. Throws std::system_error.
void enter_process(pool_core& core);

} // namespace rubato::detail
