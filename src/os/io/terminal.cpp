#include "os/io/terminal.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace rubato::os {

int open_terminal() noexcept { return ::open("/dev/tty", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); }

bool is_terminal(int fd) noexcept { return ::isatty(fd) == 1; }

terminal_size size_of_terminal(int fd) noexcept {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return {};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

io_result write_part(int fd, std::string_view text) noexcept {
  for (;;) {
    ssize_t const n = ::write(fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (n >= 0) return {.value = n, .error = 0};
    if (errno != EINTR) return {.value = -1, .error = errno};
  }
}

} // namespace rubato::os
