#include "socket.hpp"

#include <array>
#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>

namespace savegame::baseline {

namespace {

std::error_code last_error() { return {errno, std::generic_category()}; }
bool would_wait() { return errno == EAGAIN || errno == EINTR; }

} // namespace

socket::~socket() {
  if (fd_ >= 0) ::close(fd_);
}

task<std::size_t> socket::read_some(rubato::bytes_to_fill into, time_point deadline,
                                    std::error_code& error) const {
  error.clear();
  for (;;) {
    const ssize_t n = ::recv(fd_, into.data(), into.size(), 0);
    if (n >= 0) co_return static_cast<std::size_t>(n);
    if (!would_wait()) error = last_error();
    if (error) co_return 0;
    const std::errc e = co_await wait(fd_, POLLIN, deadline);
    if (e != std::errc()) error = std::make_error_code(e);
    if (error) co_return 0;
  }
}

task<void> socket::write_all(rubato::bytes_to_send what, time_point deadline, std::error_code& error) const {
  error.clear();
  while (!what.empty()) {
    const ssize_t n = ::send(fd_, what.data(), what.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      what = what.subspan(static_cast<std::size_t>(n));
      continue;
    }
    if (!would_wait()) error = last_error();
    if (error) co_return;
    const std::errc e = co_await wait(fd_, POLLOUT, deadline);
    if (e != std::errc()) error = std::make_error_code(e);
    if (error) co_return;
  }
}

void socket::shutdown(rubato::socket_end which) const {
  ::shutdown(fd_, which == rubato::socket_end::receiving ? SHUT_RD : SHUT_WR);
}

task<bool> socket::close_gracefully(time_point deadline, std::error_code& error) {
  ::shutdown(fd_, SHUT_WR);
  std::array<char, 4096> some;
  bool at_end = false;
  error.clear();
  while (!at_end && !error && std::chrono::steady_clock::now() < deadline) {
    const std::size_t n = co_await read_some(some, deadline, error);
    at_end = !error && n == 0;
  }
  ::close(std::exchange(fd_, -1));
  co_return at_end;
}

} // namespace savegame::baseline
