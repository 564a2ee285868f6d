// The program `echo`: what it sends back, and how it ends.
#include "examples/child.hpp"
#include "examples/listening.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <string_view>

namespace {

using namespace rubato_test;

class echo_server : public listening_server {
protected:
  static int connect(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0) throw std::runtime_error("no server");
    return fd;
  }
  static std::string exchange(int fd, std::string_view text) {
    if (::send(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) return "not sent";
    std::string back(text.size(), '\0');
    return ::recv(fd, back.data(), back.size(), MSG_WAITALL) == static_cast<ssize_t>(back.size()) ? back : "";
  }
};

TEST_F(echo_server, sends_back_and_ends_at_a_signal) {
  child server({ECHO_PROGRAM, "--workers", "2"}, {.out = output_[1]});
  const std::uint16_t p = port();
  ASSERT_NE(p, 0) << said_;
  const int a = connect(p), b = connect(p);
  EXPECT_EQ(exchange(a, "one"), "one");
  EXPECT_EQ(exchange(b, "another"), "another");
  ::close(a); // the other stays open: the end of the pool ends it
  server.send(SIGTERM);
  const outcome end = server.wait();
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(end.err, "");
  ::close(b);
}

TEST_F(echo_server, says_that_a_port_is_in_use) {
  child first({ECHO_PROGRAM}, {.out = output_[1]});
  const std::string p = std::to_string(port());
  const outcome second = run({ECHO_PROGRAM, "--port", p});
  EXPECT_EQ(second.status, 1);
  EXPECT_NE(second.err.find("127.0.0.1:" + p), std::string::npos) << second.err;
  first.send(SIGINT);
  EXPECT_EQ(first.wait().status, 0);
}

} // namespace
