// Reading from a descriptor of the caller's, which may be of any kind.
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/task.hpp"

#include <chrono>
#include <cstddef>
#include <span>
#include <system_error>

namespace rubato::detail {

/// Waits until the descriptor is readable, and reads some bytes; 0: the end. A regular file, which the kernel
/// cannot wait for, is read at once.
[[nodiscard]] RUBATO_API rubato::task<std::size_t>
read_descriptor(int fd, std::span<std::byte> into, std::chrono::steady_clock::time_point deadline,
                std::error_code* error);

} // namespace rubato::detail
