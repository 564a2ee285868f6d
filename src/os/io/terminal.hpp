// The terminal of the process, and text for a descriptor. Nothing here changes what a terminal is set to.
#pragma once

#include "os/io/socket.hpp"

#include <string_view>

namespace rubato::os {

/// The terminal that controls the process, opened so that writing does not wait; -1: there is none.
[[nodiscard]] int open_terminal() noexcept;
[[nodiscard]] bool is_terminal(int fd) noexcept;

struct terminal_size {
  unsigned columns = 0, rows = 0; ///< 0: unknown
};
[[nodiscard]] terminal_size size_of_terminal(int fd) noexcept;

/// Writes a part of the text: at most what a pipe that is ready takes without waiting.
[[nodiscard]] io_result write_part(int fd, std::string_view text) noexcept;

} // namespace rubato::os
