// What the tests of the live view share.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>

namespace rubato_test {

/// A pipe into which a live view writes.
class frame_pipe {
  std::array<int, 2> ends_{-1, -1};

public:
  frame_pipe() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  frame_pipe(frame_pipe const&) = delete;
  ~frame_pipe() {
    close_output();
    ::close(ends_[0]);
  }
  [[nodiscard]] int input() const { return ends_[0]; }
  [[nodiscard]] int output() const { return ends_[1]; }
  void close_output() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  /// What is read until it contains this text.
  [[nodiscard]] std::string read_until(std::string const& text) {
    std::string all;
    std::array<char, 4'096> buffer{};
    while (all.find(text) == all.npos) { // hangs if it never comes
      ssize_t const n = ::read(ends_[0], buffer.data(), buffer.size());
      if (n <= 0) break;
      all.append(buffer.data(), static_cast<std::size_t>(n));
    }
    return all;
  }
  /// All of it; nothing writes any more.
  [[nodiscard]] std::string read_all() {
    close_output();
    return read_until("\x01");
  }
};

} // namespace rubato_test
