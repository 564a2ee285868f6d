// A server that an example starts: it prints where it listens.
#pragma once

#include "support/loopback.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace rubato_test {

/// Give the child `output_[1]` as its standard output.
class listening_server : public testing::Test {
protected:
  std::array<int, 2> output_{-1, -1};
  std::string said_;

  listening_server() {
    if (::pipe2(output_.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  }
  void SetUp() override {
    if (!rubato_test::has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  }
  ~listening_server() override {
    ::close(output_[0]);
    ::close(output_[1]);
  }
  /// The port that it prints; 0: it has ended instead.
  std::uint16_t port() {
    while (said_.find('\n') == std::string::npos) {
      char c = 0;
      if (::read(output_[0], &c, 1) != 1) return 0;
      said_ += c;
    }
    return static_cast<std::uint16_t>(std::stoi(said_.substr(said_.rfind(':') + 1)));
  }
};

} // namespace rubato_test
