// Child processes.
#pragma once

#include <optional>

namespace rubato::os {

/// The exit status of the child behind a pidfd, which is then reaped: its exit code, or 128 + the signal that
/// ended it. Nothing: it has not ended. Throws std::system_error: the descriptor is no pidfd of a child.
[[nodiscard]] std::optional<int> try_reap(int pidfd);

} // namespace rubato::os
