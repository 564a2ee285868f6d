// The program `lookup` beside a server of names that the test plays.
#include "examples/child.hpp"
#include "support/loopback.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace rubato_test;
using testing::HasSubstr;

/// Answers questions for "host<N>" with 10.0.0.N, leaves those for "silent" without an answer, and knows no
/// other name. One datagram at a time; the ends of labels are counts of bytes, as RFC 1035 has it.
class name_server {
  int fd_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  std::promise<void> silent_;
  bool asked_silent_ = false;
  std::thread thread_;

  static constexpr std::size_t header = 12;
  static constexpr char type_a = 1;

  std::string answer(const std::string& question) {
    const auto size = static_cast<unsigned char>(question[header]);
    const std::string name = question.substr(header + 1, size);
    const std::size_t end = question.find('\0', header) + 5; // the type and the class follow the name
    if (name == "silent" && !std::exchange(asked_silent_, true)) silent_.set_value();
    if (name == "silent" || end > question.size()) return "";
    const bool known = name.starts_with("host");
    const bool has = known && question[end - 3] == type_a;
    std::string a = question.substr(0, 2) + "\x81" + (known ? '\x80' : '\x83');
    a.append({0, 1, 0, has ? char(1) : char(0), 0, 0, 0, 0}).append(question, header, end - header);
    if (has) // the name is that of the question; for a minute; four bytes
      a.append({'\xc0', char(header), 0, type_a, 0, 1, 0, 0, 0, 60, 0, 4, 10, 0, 0,
                char(std::stoi(name.substr(4)))});
    return a;
  }
  void work() {
    for (;;) {
      char bytes[512];
      sockaddr_in from{};
      socklen_t size = sizeof from;
      const ssize_t n = ::recvfrom(fd_, bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&from), &size);
      if (n <= static_cast<ssize_t>(header)) return; // the end of the test
      const std::string a = answer(std::string(bytes, static_cast<std::size_t>(n)));
      if (!a.empty()) ::sendto(fd_, a.data(), a.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
    }
  }
  sockaddr_in where() const {
    sockaddr_in a{};
    socklen_t size = sizeof a;
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&a), &size);
    return a;
  }

public:
  name_server() {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(fd_, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0) throw std::runtime_error("cannot bind");
    thread_ = std::thread([this] { work(); });
  }
  name_server(const name_server&) = delete;
  name_server& operator=(const name_server&) = delete;
  ~name_server() {
    const sockaddr_in a = where();
    ::sendto(fd_, "", 0, 0, reinterpret_cast<const sockaddr*>(&a), sizeof a);
    thread_.join();
    ::close(fd_);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(ntohs(where().sin_port)); }
  void wait_until_asked_for_silent() { silent_.get_future().wait(); }
};

class lookup_program : public testing::Test {
protected:
  void SetUp() override {
    if (!rubato_test::has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  }
  static std::vector<std::string> command(const name_server& server, std::vector<std::string> more) {
    more.insert(more.begin(), {LOOKUP_PROGRAM, "--server", server.address()});
    return more;
  }
};

TEST_F(lookup_program, prints_addresses_in_the_order_of_the_names) {
  const name_server server;
  std::vector<std::string> names;
  std::string expected;
  for (int i = 1; i != 100; ++i) {
    names.push_back("host" + std::to_string(i) + ".example");
    expected += names.back() + "  10.0.0." + std::to_string(i) + '\n';
  }
  const outcome end = run(command(server, names));
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(end.out, expected);
}

TEST_F(lookup_program, tells_of_each_name_that_is_unknown) {
  const name_server server;
  const outcome end = run(command(server, {"host1.example", "nobody.example", "host2.example"}));
  EXPECT_EQ(end.status, 1);
  EXPECT_EQ(end.out, "host1.example  10.0.0.1\nhost2.example  10.0.0.2\n");
  EXPECT_THAT(end.err, HasSubstr("lookup: nobody.example: "));
}

TEST_F(lookup_program, gives_up_after_its_tries) {
  const name_server server;
  const outcome end =
      run(command(server, {"--timeout", "10", "--tries", "2", "silent.example", "host7.example"}));
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.err, HasSubstr("silent.example: "));
}

TEST_F(lookup_program, ends_at_a_signal) {
  name_server server;
  child waiting(command(server, {"--timeout", "600000", "silent.example"}), {});
  server.wait_until_asked_for_silent();
  waiting.send(SIGTERM);
  EXPECT_EQ(waiting.wait().status, 128 + SIGTERM);
}

TEST_F(lookup_program, says_what_is_wrong_with_its_arguments) {
  EXPECT_NE(run({LOOKUP_PROGRAM}).status, 0);
  const outcome end = run({LOOKUP_PROGRAM, "--server", "what", "host1.example"});
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.err, HasSubstr("the servers what: "));
}

} // namespace
