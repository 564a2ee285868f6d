// Waiting for a few descriptors, by poll(2).
#pragma once

#include <poll.h>
#include <span>

namespace rubato::os {

/// One descriptor, and what is waited for.
using polled = ::pollfd;

/// Sleeps until one is ready, or so many milliseconds; -1: without limit. A signal may end it.
void wait_for_any(std::span<polled> of, int milliseconds) noexcept;

} // namespace rubato::os
