// Handlers around fork().
#pragma once

namespace rubato::os {

/// From now on every fork() calls `prepare` before, in the forking thread, then `parent` and, in the child,
/// `child`. Several registrations: prepare runs in reverse order, the others in order. A null pointer is
/// skipped. It cannot be undone. Throws std::system_error if memory is short.
void register_fork_handlers(void (*prepare)(), void (*parent)(), void (*child)());

} // namespace rubato::os
