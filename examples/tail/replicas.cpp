#include "replicas.hpp"

#include <rubato/rubato.hpp>

#include <array>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace tail {
namespace {

/// A server, and connections to it that wait for their next request.
class replica {
  const rubato::address address_;
  std::mutex mutex_;
  std::vector<rubato::tcp_socket> idle_; // guarded by mutex_

  static rubato::address parse(const std::string& server) {
    const auto colon = server.rfind(':');
    std::uint16_t port = 0;
    if (colon != std::string::npos)
      std::from_chars(server.data() + colon + 1, server.data() + server.size(), port);
    if (port == 0) throw std::invalid_argument("'" + server + "' is not of the form address:port");
    return {server.substr(0, colon), port};
  }

public:
  explicit replica(const std::string& server)
      : address_(parse(server)) {}
  const rubato::address& where() const { return address_; }
  std::optional<rubato::tcp_socket> take() {
    const std::lock_guard guard(mutex_);
    if (idle_.empty()) return std::nullopt;
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
  }
  void keep(rubato::tcp_socket connection) {
    const std::lock_guard guard(mutex_);
    idle_.push_back(std::move(connection));
  }
};

struct shared {
  std::vector<std::unique_ptr<replica>> servers;
  std::string request;
  std::atomic<std::uint64_t> copies{0};
};

/// What a number in a header says; nothing if it is not there.
std::optional<std::size_t> content_length(std::string_view head) {
  constexpr std::string_view name = "\r\nContent-Length: ";
  const auto at = head.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t length = 0;
  std::from_chars(head.data() + at + name.size(), head.data() + head.size(), length);
  return length;
}

rubato::task<std::string> read_answer(const rubato::tcp_socket& connection) {
  std::string text;
  std::array<char, 4096> some;
  for (;;) {
    if (const auto end = text.find("\r\n\r\n"); end != std::string::npos) {
      const auto length = content_length(std::string_view(text).substr(0, end));
      if (!text.starts_with("HTTP/1.1 200") || !length)
        throw std::runtime_error("a replica answers: " + text.substr(0, text.find('\r')));
      if (text.size() >= end + 4 + *length) co_return text.substr(end + 4, *length);
    }
    const std::size_t n = co_await connection.read_some(some);
    if (n == 0) throw std::runtime_error("a replica has closed the connection");
    text.append(some.data(), n);
  }
}

/// One copy. If it is stopped, its connection goes with it: an answer may be under way there.
rubato::task<std::string> get(std::shared_ptr<shared> all, std::uint64_t call,
                              std::shared_ptr<std::atomic<unsigned>> begun) {
  all->copies.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t mine = call + begun->fetch_add(1, std::memory_order_relaxed);
  replica& from = *all->servers[mine % all->servers.size()];
  std::optional<rubato::tcp_socket> connection = from.take();
  if (!connection) connection = co_await rubato::tcp_socket::connect(from.where());
  co_await connection->write_all(all->request);
  std::string body = co_await read_answer(*connection);
  from.keep(std::move(*connection));
  co_return body;
}

class replicas : public target {
  std::shared_ptr<shared> all_ = std::make_shared<shared>();
  std::string first_; // what all answers must be

public:
  replicas(const std::vector<std::string>& servers, const std::string& user) {
    for (const auto& server : servers) all_->servers.push_back(std::make_unique<replica>(server));
    all_->request = "GET /save/" + user + " HTTP/1.1\r\nHost: replica\r\n\r\n";
  }
  void call(rubato::pool& pool, const strategy& how, std::uint64_t number) override {
    auto begun = std::make_shared<std::atomic<unsigned>>(0);
    std::string body;
    switch (how.how) {
    case strategy::kind::single:
      body = pool.block_on(get(all_, number, begun));
      break;
    case strategy::kind::race:
      body = pool.block_on(rubato::async_race(how.options(), get, all_, number, begun));
      break;
    case strategy::kind::hedge:
      body = pool.block_on(rubato::async_hedge(how.options(), get, all_, number, begun));
      break;
    }
    if (first_.empty()) first_ = body;
    if (body != first_) throw std::runtime_error("two replicas have different saves");
  }
  std::uint64_t copies() const override { return all_->copies.load(std::memory_order_relaxed); }
  void wait() override {} // losers are stopped, and own what they use
};

} // namespace

std::unique_ptr<target> make_replicas(const std::vector<std::string>& servers, const std::string& user) {
  return std::make_unique<replicas>(servers, user);
}

} // namespace tail
