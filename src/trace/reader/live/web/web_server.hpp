// Serves the page on loopback, in one thread, by poll. docs/design/live.md
#pragma once

#include "trace/reader/live/web/web_answer.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace rubato::detail {

class web_server {
  using clock = std::chrono::steady_clock;

  struct connection {
    int fd = -1;
    std::string received, to_send;
    std::size_t sent = 0;
    bool is_answered = false;
    clock::time_point until; // it is closed then
  };
  static constexpr std::size_t most_connections = 16;

  web_site const site_;
  int listener_ = -1;
  std::vector<connection> connections_;

  /// False: there is one that the system cannot accept now.
  [[nodiscard]] bool accept_one();
  /// Each returns false if the connection has ended.
  [[nodiscard]] bool receive(connection& c);
  [[nodiscard]] static bool send(connection& c);

public:
  /// Listens. Throws std::system_error: another process does, or the system refuses.
  web_server(unsigned port, std::function<std::string()> state);
  web_server(web_server const&) = delete;
  web_server& operator=(web_server const&) = delete;
  ~web_server();

  [[nodiscard]] std::string url() const;
  /// Until that descriptor is readable.
  void serve(int stop_fd);
};

} // namespace rubato::detail
