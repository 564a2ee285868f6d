// The program `savegame` with a Redis of its own, and clients for both.
#pragma once

#include "examples/child.hpp"
#include "examples/temporary_tree.hpp"
#include "support/loopback.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace rubato_test {

inline constexpr std::chrono::seconds patience{100}; ///< when to give up

/// True as soon as f() is; false when patience ends.
template<class F>
bool eventually(F f) {
  for (const auto end = std::chrono::steady_clock::now() + patience; std::chrono::steady_clock::now() < end;
       std::this_thread::sleep_for(std::chrono::milliseconds(5)))
    if (f()) return true;
  return false;
}

/// A connected socket.
class client {
  int fd_;

public:
  client(const sockaddr* to, socklen_t size)
      : fd_(::socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{patience.count(), 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(fd_, to, size) != 0) ::close(std::exchange(fd_, -1));
  }
  client(client&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}
  client& operator=(client&&) = delete;
  ~client() {
    if (fd_ >= 0) ::close(fd_);
  }

  static client of_port(std::uint16_t port) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return {reinterpret_cast<const sockaddr*>(&a), sizeof a};
  }
  static client of_path(const std::string& path) {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    std::strncpy(a.sun_path, path.c_str(), sizeof a.sun_path - 1);
    return {reinterpret_cast<const sockaddr*>(&a), sizeof a};
  }

  bool connected() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  /// False: the other end has gone.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  void end_sending() const { ::shutdown(fd_, SHUT_WR); }
  /// Vanishes: the other end reads an error.
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(std::exchange(fd_, -1));
  }
  /// More bytes; empty: the end, or an error.
  std::string receive() const {
    std::string some(64 * 1024, '\0');
    const ssize_t n = ::recv(fd_, some.data(), some.size(), 0);
    some.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return some;
  }
};

struct answer {
  int status = 0; ///< 0: none came
  std::string body;
};

/// Reads one answer.
inline answer receive_answer(const client& c) {
  std::string all;
  for (;;) {
    if (const auto head = all.find("\r\n\r\n"); head != all.npos) {
      const auto length = all.find("Content-Length: ");
      const std::size_t size = length < head ? std::stoul(all.substr(length + 16)) : 0;
      if (all.size() >= head + 4 + size) return {std::stoi(all.substr(9)), all.substr(head + 4, size)};
    }
    const std::string more = c.receive();
    if (more.empty()) return {};
    all += more;
  }
}

inline std::string request_text(std::string_view method, std::string_view target,
                                std::string_view body = {}) {
  std::string all(method);
  all.append(" ").append(target).append(" HTTP/1.1\r\nHost: here\r\n");
  if (method == "PUT") all.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  return all.append("\r\n").append(body);
}

/// The first line of Redis's reply to a command; empty: it does not answer.
inline std::string ask_redis(const std::string& socket, const std::string& command) {
  const client c = client::of_path(socket);
  if (!c.connected() || !c.send(command + "\r\n")) return {};
  const std::string reply = c.receive();
  return reply.substr(0, reply.find('\r'));
}

/// Redis in a directory of its own. What it has acknowledged it still has when it was killed.
class redis_server {
  temporary_tree directory_;
  std::optional<child> process_;

public:
  static constexpr const char* program = "/usr/bin/redis-server";
  static bool is_installed() { return ::access(program, X_OK) == 0; }

  redis_server() { start(); }
  redis_server(const redis_server&) = delete;
  redis_server& operator=(const redis_server&) = delete;
  ~redis_server() { kill(); }

  std::string path() const { return directory_.path("socket"); }
  void start() {
    process_.emplace(std::vector<std::string>{program, "--port", "0", "--unixsocket", path(), "--dir",
                                              directory_.path(), "--save", "", "--appendonly", "yes",
                                              "--appendfsync", "always"},
                     child::setting{});
    if (eventually([&] { return ask("PING") == "+PONG"; })) return;
    kill();
    throw std::runtime_error("no redis-server");
  }
  void kill() {
    if (!process_) return;
    process_->send(SIGKILL);
    process_->wait();
    process_.reset();
  }
  std::string ask(const std::string& command) const { return ask_redis(path(), command); }
  /// How many saves hold their locks.
  int locks() const {
    const std::string reply = ask("DBSIZE"); // of database 0
    return reply.starts_with(':') ? std::stoi(reply.substr(1)) : -1;
  }
};

/// The server.
class savegame_server {
  std::array<int, 2> output_{-1, -1};
  std::optional<child> process_;
  std::uint16_t port_ = 0;

public:
  savegame_server(const redis_server& redis, std::vector<std::string> options) {
    if (::pipe2(output_.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    std::vector<std::string> command{SAVEGAME_PROGRAM, "--port", "0", "--redis", redis.path()};
    command.insert(command.end(), options.begin(), options.end());
    process_.emplace(std::move(command), child::setting{.out = output_[1]});
    ::close(output_[1]);
    std::string said;
    for (char c = 0; c != '\n' && ::read(output_[0], &c, 1) == 1;) said += c;
    if (said.find(':') == said.npos) throw std::runtime_error("no server: " + process_->wait().err);
    port_ = static_cast<std::uint16_t>(std::stoi(said.substr(said.rfind(':') + 1)));
  }
  savegame_server(const savegame_server&) = delete;
  savegame_server& operator=(const savegame_server&) = delete;
  ~savegame_server() {
    if (process_) process_->send(SIGKILL);
    ::close(output_[0]);
  }

  std::uint16_t port() const { return port_; }
  client connect() const { return client::of_port(port_); }
  answer ask(std::string_view method, std::string_view target, std::string_view body = {}) const {
    const client c = connect();
    if (!c.connected() || !c.send(request_text(method, target, body))) return {};
    return receive_answer(c);
  }
  /// A number of GET /stats. It asks again if the server finds this client too slow.
  std::uint64_t count(const std::string& name) const {
    answer a = ask("GET", "/stats");
    while (a.status == 408) a = ask("GET", "/stats");
    const std::string all = "\n" + a.body;
    const auto at = all.find("\n" + name + "=");
    if (at == all.npos) throw std::runtime_error("no count " + name);
    return std::stoull(all.substr(at + name.size() + 2));
  }
  void send(int signal) const { process_->send(signal); }
  outcome wait() {
    const outcome end = process_->wait();
    process_.reset();
    return end;
  }
  pid_t process() const { return process_->process(); }
};

/// With the scheduler as its parameter.
class savegame : public testing::TestWithParam<std::string> {
protected:
  std::optional<redis_server> redis_;
  std::optional<savegame_server> server_;

  void SetUp() override {
    if (!rubato_test::has_loopback()) GTEST_SKIP() << "no loopback interface is up";
    if (!redis_server::is_installed())
      GTEST_SKIP() << "redis-server is not installed: scripts/setup savegame";
    redis_.emplace();
    start();
  }
  /// Anew, with these options; unset: with deadlines that do not come.
  void start(std::vector<std::string> more = {}) {
    server_.reset();
    const std::string time = std::to_string(patience.count());
    std::vector<std::string> options{"--workers", "2", "--period", "1", "--scheduler", GetParam()};
    if (more.empty()) more = {"--deadline", time, "--client-deadline", time};
    options.insert(options.end(), more.begin(), more.end());
    server_.emplace(*redis_, options);
  }
};
/// Clients that save in keys of their own, over and over, until they are told to end.
class savers {
  std::mutex mutex_;
  std::set<std::string> acknowledged_;
  std::set<int> other_statuses_;
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;

  void save(savegame_server& server, const std::string& user, int me) {
    for (int n = 0; !over_; ++n) {
      const std::string line = "k" + std::to_string(me) + "." + std::to_string(n) + "=yes\n";
      const int status = server.ask("PUT", "/save/" + user, line).status;
      if (status == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1)); // there is no server
      const std::lock_guard lock(mutex_);
      if (status == 200)
        acknowledged_.insert(line);
      else
        other_statuses_.insert(status);
    }
  }

public:
  /// Two of them for each user.
  savers(savegame_server& server, int users) {
    for (int i = 0; i != 2 * users; ++i)
      threads_.emplace_back([&server, this, i] { save(server, "user" + std::to_string(i / 2), i); });
  }
  savers(const savers&) = delete;
  savers& operator=(const savers&) = delete;
  ~savers() { end(); }

  void end() {
    over_ = true;
    for (auto& t : threads_)
      if (t.joinable()) t.join();
  }
  std::size_t acknowledged() {
    const std::lock_guard lock(mutex_);
    return acknowledged_.size();
  }
  bool saw(int status) {
    const std::lock_guard lock(mutex_);
    return other_statuses_.contains(status);
  }
  /// After end().
  void expect_all_kept(const savegame_server& server) {
    for (std::size_t i = 0; i != threads_.size() / 2; ++i) {
      const answer a = server.ask("GET", "/save/user" + std::to_string(i));
      for (const auto& line : acknowledged_)
        if (std::stoul(line.substr(1)) / 2 == i) {
          EXPECT_THAT("\n" + a.body, testing::HasSubstr("\n" + line));
        }
    }
  }
  const std::set<int>& other_statuses() const { return other_statuses_; }
};

} // namespace rubato_test
