#include "trace/reader/live/web/web_server.hpp"

#include "os/io/epoll.hpp"
#include "os/io/poll.hpp"
#include "os/io/socket.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

namespace rubato::detail {

namespace {

constexpr char const* loopback = "127.0.0.1";
constexpr std::chrono::seconds patience{5}; // with a client that sends or reads slowly

int listen_at(unsigned port) {
  os::socket_address at;
  static_cast<void>(os::parse_ip(loopback, static_cast<std::uint16_t>(port), at));
  os::io_result const made = os::make_socket(at, os::transport::stream);
  int const fd = static_cast<int>(made.value);
  int error = made.error;
  if (error == 0) error = os::bind_socket(fd, at, os::transport::stream).error;
  if (error == 0) error = os::listen_on(fd, 16).error;
  if (error == 0) return fd;
  os::close_fd(fd);
  throw std::system_error(error, std::generic_category(),
                          "rubato: no page at " + std::string(loopback) + ':' + std::to_string(port) +
                              ", choose another port");
}

} // namespace

web_server::web_server(unsigned port, std::function<std::string()> state)
    : site_{.port = port, .token = make_token(), .state = std::move(state)}
    , listener_(listen_at(port)) {}

web_server::~web_server() {
  for (connection const& c : connections_) os::close_fd(c.fd);
  os::close_fd(listener_);
}

std::string web_server::url() const {
  return "http://" + std::string(loopback) + ':' + std::to_string(site_.port) + '/' + site_.token + '/';
}

bool web_server::accept_one() {
  os::io_result const r = os::accept_from(listener_);
  if (r.error != 0) return r.would_wait(); // it has gone
  connection c;
  c.fd = static_cast<int>(r.value);
  c.until = clock::now() + patience;
  connections_.push_back(std::move(c));
  return true;
}

/// After the answer what the client still sends is thrown away: to close before would reset the connection,
/// and the client would lose the answer.
bool web_server::receive(connection& c) {
  if (c.is_answered) {
    os::io_result const r = os::discard_received(c.fd);
    return r.error == 0 ? r.value != 0 : r.would_wait();
  }
  std::array<std::byte, longest_head> buffer;
  os::io_result const r = os::receive(c.fd, buffer);
  if (r.error != 0) return r.would_wait();
  if (r.value == 0) return false;
  c.received.append(reinterpret_cast<char const*>(buffer.data()), static_cast<std::size_t>(r.value));
  if (!is_whole_head(c.received) && c.received.size() <= longest_head) return true;
  c.to_send = answer_to(c.received, site_);
  c.is_answered = true;
  return send(c);
}

bool web_server::send(connection& c) {
  while (c.sent != c.to_send.size()) {
    std::string_view const rest = std::string_view(c.to_send).substr(c.sent);
    os::io_result const r = os::send(c.fd, std::as_bytes(std::span(rest.data(), rest.size())), nullptr);
    if (r.error != 0) return r.would_wait();
    c.sent += static_cast<std::size_t>(r.value);
  }
  static_cast<void>(os::shut_down(c.fd, os::ends::sending));
  return true;
}

void web_server::serve(int stop_fd) {
  std::vector<os::polled> of;
  bool pauses = false; // no descriptor is free: the listener would stay readable
  for (;;) {
    of.clear();
    bool const has_room = !pauses && connections_.size() < most_connections;
    of.push_back({.fd = stop_fd, .events = POLLIN, .revents = 0});
    of.push_back({.fd = has_room ? listener_ : -1, .events = POLLIN, .revents = 0});
    for (connection const& c : connections_) {
      bool const sends = c.sent != c.to_send.size();
      of.push_back({.fd = c.fd, .events = static_cast<short>(sends ? POLLOUT : POLLIN), .revents = 0});
    }
    os::wait_for_any(of, connections_.empty() && !pauses ? -1 : 500);
    if (of[0].revents != 0) return;
    clock::time_point const now = clock::now();
    for (std::size_t i = connections_.size(); i-- != 0;) {
      connection& c = connections_[i];
      short const happened = of[i + 2].revents;
      bool stays = now < c.until;
      if (stays && (happened & POLLOUT) != 0) stays = send(c);
      if (stays && (happened & (POLLIN | POLLHUP | POLLERR)) != 0) stays = receive(c);
      if (stays) continue;
      os::close_fd(c.fd);
      connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    pauses = of[1].revents != 0 && !accept_one();
  }
}

} // namespace rubato::detail
