// Child processes, handlers around fork(), and what the kernel counts for other processes.
#pragma once

#include <chrono>
#include <optional>

namespace rubato::os {

/// The exit status of the child behind a pidfd, which is then reaped: its exit code, or 128 + the signal that
/// ended it. Nothing: it has not ended. Throws std::system_error: the descriptor is no pidfd of a child.
[[nodiscard]] std::optional<int> try_reap(int pidfd);

struct cpu_counts {
  std::chrono::nanoseconds ran{};   ///< on a CPU
  std::chrono::nanoseconds ready{}; ///< and for so long it waited for one
};
/// Of a thread of any process. Zeros if there is no such thread, or the kernel does not count (no
/// /proc/PID/schedstat).
[[nodiscard]] cpu_counts cpu_counts_of(int process, int thread) noexcept;

/// From now on every fork() calls `prepare` before, in the forking thread, then `parent` and, in the child,
/// `child`. Several registrations: prepare runs in reverse order, the others in order. A null pointer is
/// skipped. It cannot be undone. Throws std::system_error if memory is short.
void register_fork_handlers(void (*prepare)(), void (*parent)(), void (*child)());

} // namespace rubato::os
