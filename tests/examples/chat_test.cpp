// The program `chat`: what its members read, what a slow one does to the others, and how it ends.
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
#include <utility>

namespace {

using namespace rubato_test;

/// A client that blocks.
class client {
  int fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string unread_;

public:
  explicit client(std::uint16_t port, int receive_buffer = 0) {
    if (receive_buffer != 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0) throw std::runtime_error("no server");
  }
  client(client&& other) noexcept
      : fd_(std::exchange(other.fd_, -1))
      , unread_(std::move(other.unread_)) {}
  ~client() { hang_up(); }
  void hang_up() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  bool say(std::string_view text) const {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  /// The next line, or "" at the end of the connection.
  std::string line() {
    std::size_t end = 0;
    while ((end = unread_.find('\n')) == std::string::npos) {
      char bytes[4096];
      const ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
      if (n <= 0) return "";
      unread_.append(bytes, static_cast<std::size_t>(n));
    }
    std::string first = unread_.substr(0, end);
    unread_.erase(0, end + 1);
    return first;
  }
};

class chat_server : public listening_server {
protected:
  static client enter(std::uint16_t port, const std::string& name, int receive_buffer = 0) {
    client c(port, receive_buffer);
    EXPECT_EQ(c.line(), "your name?");
    EXPECT_TRUE(c.say(name + "\n"));
    EXPECT_EQ(c.line(), "welcome"); // the others know it, and it hears them
    return c;
  }
};

TEST_F(chat_server, passes_lines_to_all_others_and_ends_at_a_signal) {
  child server({CHAT_PROGRAM, "--workers", "2"}, {.out = output_[1]});
  const std::uint16_t p = port();
  client ann = enter(p, "ann"), bob = enter(p, "bob");
  EXPECT_EQ(ann.line(), "* bob enters");
  EXPECT_TRUE(ann.say("hello\r\nhow are"));
  EXPECT_EQ(bob.line(), "ann: hello");
  EXPECT_TRUE(ann.say(" you?\n"));
  EXPECT_EQ(bob.line(), "ann: how are you?");
  client second(p);
  EXPECT_EQ(second.line(), "your name?");
  EXPECT_TRUE(second.say("bob\n"));
  EXPECT_EQ(second.line(), "this name is taken");
  EXPECT_EQ(second.line(), "");
  bob.hang_up();
  EXPECT_EQ(ann.line(), "* bob leaves");
  server.send(SIGTERM);
  const outcome end = server.wait();
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(end.err, "");
  EXPECT_EQ(ann.line(), "");
}

TEST_F(chat_server, a_line_that_never_ends_is_cut_off) {
  child server({CHAT_PROGRAM}, {.out = output_[1]});
  client c = enter(port(), "loud");
  while (c.say(std::string(1000, 'x'))) {
  }
  server.send(SIGTERM);
  EXPECT_EQ(server.wait().status, 0);
}

/// A member that reads nothing holds up the speakers until it is disconnected; the other members lose no
/// line.
TEST_F(chat_server, disconnects_a_member_that_does_not_read) {
  child server({CHAT_PROGRAM, "--outbox", "4"}, {.out = output_[1]});
  const std::uint16_t p = port();
  client speaker = enter(p, "speaker"), reader = enter(p, "reader");
  EXPECT_EQ(speaker.line(), "* reader enters");
  client deaf = enter(p, "deaf", 1);
  EXPECT_EQ(speaker.line(), "* deaf enters");
  EXPECT_EQ(reader.line(), "* deaf enters");
  // Each line waits until the reader has the one before, so only the deaf member ever lags behind.
  bool deaf_has_left = false; // it does not see that itself: it would have to read
  for (std::size_t said = 0; !deaf_has_left; ++said) {
    const std::string line = std::to_string(said) + std::string(900, '.');
    ASSERT_TRUE(speaker.say(line + "\n"));
    std::string heard = reader.line();
    for (; heard == "* deaf leaves"; heard = reader.line()) deaf_has_left = true;
    ASSERT_EQ(heard, "speaker: " + line);
  }
  server.send(SIGTERM);
  EXPECT_EQ(server.wait().status, 0);
}

} // namespace
