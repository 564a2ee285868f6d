// Descriptors for tests, closed at their end.
#pragma once

#include "io/reactor.hpp"

#include <rubato/task.hpp>

#include <array>
#include <fcntl.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace rubato_test {

class fd {
  int fd_ = -1;

public:
  fd() = default;
  explicit fd(int n)
      : fd_(n) {
    if (n < 0) throw std::system_error(errno, std::generic_category());
  }
  fd(fd&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}
  fd& operator=(fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~fd() { close(); }
  [[nodiscard]] int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
};

/// Two ends; `a` reads what was written to `b`, and of a pair of sockets the other way round too.
struct ends {
  fd a, b;
};
inline ends make_pipe() {
  std::array<int, 2> both{};
  if (::pipe2(both.data(), O_NONBLOCK | O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category());
  return {fd(both[0]), fd(both[1])};
}
inline ends make_pair() {
  std::array<int, 2> both{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both.data()) != 0)
    throw std::system_error(errno, std::generic_category());
  return {fd(both[0]), fd(both[1])};
}

inline void put(fd const& to, std::string_view text) {
  if (::write(to.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::system_error(errno, std::generic_category());
}
/// One byte, or -1: there is none.
inline int get(fd const& from) {
  char c = 0;
  return ::read(from.get(), &c, 1) == 1 ? c : -1;
}

/// Throws std::system_error.
inline fd open_pidfd(pid_t child) { return fd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0))); }

using rubato::detail::direction;

/// A coroutine waits until the descriptor is ready.
inline bool is_awaited(int fd, direction d = direction::reading) {
  rubato::detail::descriptor_slot* const slot = rubato::detail::find_slot(fd);
  return slot != nullptr && slot->is_awaited(d);
}
/// Ends when a coroutine waits for the descriptor, whose number the caller keeps alive.
inline rubato::task<void> until_awaited(int fd, direction d = direction::reading) {
  while (!is_awaited(fd, d)) co_await rubato::yield();
}

} // namespace rubato_test
