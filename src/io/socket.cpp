#include "rubato/socket.hpp"

#include "coro/own_race.hpp"
#include "io/descriptor.hpp"
#include "io/raw_address.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>

namespace rubato {

namespace detail {

namespace {

using descriptor_ref = std::shared_ptr<descriptor>;
using time_point = std::chrono::steady_clock::time_point;

descriptor_ref own(int fd) {
  try {
    return std::make_shared<descriptor>(fd);
  } catch (...) {
    os::close_fd(fd);
    throw;
  }
}

int checked(os::io_result r, char const* what) {
  if (r.error != 0) throw std::system_error(r.error, std::generic_category(), std::string("rubato: ") + what);
  return static_cast<int>(r.value);
}

/// Calls f with the descriptor, which stays open meanwhile.
template<class F>
void with_fd(descriptor_ref const& d, char const* what, F f) {
  io_operation const op(d);
  if (op.is_open(io_errors(what, nullptr))) checked(f(op.fd()), what);
}

/// Null: it could not be made, which was reported.
descriptor_ref own(int fd, io_errors const& errors) {
  try {
    return own(fd);
  } catch (std::system_error const& e) { // there is no slot for the number, or no reactor
    errors.report(static_cast<std::errc>(e.code().value()));
    return nullptr;
  }
}

/// Now and then, for a task whose operations never wait: others want its worker.
[[gnu::noinline]] bool turn_is_over() noexcept {
  constexpr unsigned most = 64;
  static thread_local unsigned tries = 0;
  return ++tries % most == 0;
}

descriptor_ref bound(address const& at, os::transport t) {
  os::socket_address const a = raw(at);
  descriptor_ref d = own(checked(os::make_socket(a, t), "a socket cannot be made"));
  checked(os::bind_socket(d->fd(), a, t), ("a socket cannot be bound to " + at.to_string()).c_str());
  return d;
}

descriptor_ref listening(address const& at, int backlog) {
  descriptor_ref d = bound(at, os::transport::stream);
  checked(os::listen_on(d->fd(), backlog), "listen");
  return d;
}

/// Tries an operation, and again after each event, until it need not wait. Nothing: it has failed, which was
/// reported. `Try` is called with the descriptor and returns an os::io_result. It is not called any more when
/// another operation has won the race `among`; when it succeeds, or its error is a value, it wins.
template<class Try>
rubato::task<std::optional<std::size_t>> until_done(descriptor_ref of, direction d, Try attempt,
                                                    io_errors errors, race_entry among,
                                                    time_point deadline = never) {
  io_operation const op(std::move(of));
  if (!op.is_open(errors)) co_return std::nullopt;
  bool stopped = is_stopped();
  if (!stopped && turn_is_over()) {
    try {
      co_await yield();
    } catch (cancelled const&) {
      stopped = true;
    }
  }
  if (stopped) {
    errors.report_stop();
    co_return std::nullopt;
  }
  for (;;) {
    os::io_result r{.value = -1, .error = 0};
    slot_seen before{};
    bool const has_tried = try_in_race(among, [&] {
      before = op.before_try(d);
      r = attempt(op.fd());
      // -1 without an error: accept() has not been able to take a connection.
      return r.error == 0 ? r.value >= 0 : errors.are_values() && !r.would_wait();
    });
    if (!has_tried) {
      errors.report_stop();
      co_return std::nullopt;
    }
    if (r.error == 0) co_return static_cast<std::size_t>(r.value);
    std::errc e = static_cast<std::errc>(r.error);
    if (r.would_wait()) {
      io_wait wait = op.wait(d, before, deadline);
      e = co_await wait;
      if (e == std::errc()) continue;
      if (wait.was_stopped()) {
        errors.report_stop();
        co_return std::nullopt;
      }
    }
    errors.report(e);
    co_return std::nullopt;
  }
}

rubato::task<std::size_t> receive(descriptor_ref of, bytes_to_fill into, time_point deadline,
                                  std::error_code* error) {
  race_entry const among = co_await own_race();
  auto const attempt = [into](int fd) { return os::receive(fd, into); };
  std::optional<std::size_t> const n = co_await until_done(std::move(of), direction::reading, attempt,
                                                           io_errors("read_some", error), among, deadline);
  co_return n.value_or(0);
}

rubato::task<void> send_all(descriptor_ref of, bytes_to_send what, time_point deadline,
                            std::error_code* error) {
  std::span<std::byte const> rest = what;
  io_errors const errors("write_all", error);
  while (!rest.empty()) {
    auto const attempt = [rest](int fd) { return os::send(fd, rest, nullptr); };
    // In no race: a step of several must not win, or a peer that reads no more would hold up the others.
    race_entry const none;
    std::optional<std::size_t> const n =
        co_await until_done(of, direction::writing, attempt, errors, none, deadline);
    if (!n) co_return;
    rest = rest.subspan(*n);
  }
}

/// Null: it has failed, which was reported.
rubato::task<descriptor_ref> accept(descriptor_ref of, std::error_code* error, race_entry among) {
  constexpr auto pause = std::chrono::milliseconds(10);
  io_errors const errors("accept", error);
  for (;;) {
    bool is_short = false; // of descriptors, or of memory
    auto const attempt = [&is_short](int fd) {
      os::io_result const r = os::accept_from(fd);
      bool const no_descriptor = r.error == EMFILE || r.error == ENFILE;
      is_short = no_descriptor || r.error == ENOBUFS || r.error == ENOMEM;
      if (no_descriptor) static_cast<void>(refuse_connection(fd));
      return is_short ? os::io_result{.value = -1, .error = 0} : r;
    };
    std::optional<std::size_t> const fd = co_await until_done(of, direction::reading, attempt, errors, among);
    if (!fd) co_return nullptr;
    if (!is_short) co_return own(static_cast<int>(*fd), errors);
    bool stopped = false;
    try {
      co_await sleep_for(pause);
    } catch (cancelled const&) {
      stopped = true;
    }
    if (stopped) {
      errors.report_stop();
      co_return nullptr;
    }
  }
}

rubato::task<descriptor_ref> connect(address server, time_point deadline, std::error_code* error) {
  constexpr auto pause = std::chrono::milliseconds(1);
  io_errors const errors("connect", error);
  os::socket_address const a = raw(server);
  os::io_result r = os::make_socket(a, os::transport::stream);
  if (r.error != 0) {
    errors.report(static_cast<std::errc>(r.error));
    co_return nullptr;
  }
  descriptor_ref const d = own(static_cast<int>(r.value), errors);
  if (d == nullptr) co_return nullptr;
  io_operation const op(d);
  bool stopped = is_stopped();
  slot_seen const before = op.before_try(direction::writing);
  if (!stopped) r = os::connect_to(op.fd(), a);
  // A Unix listener whose backlog is full tells of no event.
  while (!stopped && r.error == EAGAIN) {
    try {
      co_await sleep_until(std::min(deadline, deadline_after(pause)));
    } catch (cancelled const&) {
      stopped = true;
    }
    bool const late = std::chrono::steady_clock::now() >= deadline;
    r = late ? os::io_result{.value = -1, .error = ETIMEDOUT} : os::connect_to(op.fd(), a);
  }
  if (!stopped && r.error == EINPROGRESS) {
    io_wait wait = op.wait(direction::writing, before, deadline);
    std::errc const e = co_await wait;
    stopped = wait.was_stopped();
    r = e == std::errc() ? os::connected(op.fd()) : os::io_result{.value = -1, .error = static_cast<int>(e)};
  }
  if (stopped) {
    errors.report_stop();
    co_return nullptr;
  }
  if (r.error == 0) co_return d;
  errors.report(static_cast<std::errc>(r.error));
  co_return nullptr;
}

rubato::task<udp_socket::datagram> receive_datagram(descriptor_ref of, bytes_to_fill into,
                                                    std::error_code* error) {
  race_entry const among = co_await own_race();
  os::socket_address from;
  auto const attempt = [into, &from](int fd) { return os::receive_from(fd, into, from); };
  std::optional<std::size_t> const n = co_await until_done(std::move(of), direction::reading, attempt,
                                                           io_errors("receive_from", error), among);
  co_return udp_socket::datagram{n.value_or(0), made(from)};
}

rubato::task<void> send_datagram(descriptor_ref of, bytes_to_send what, address to, std::error_code* error) {
  race_entry const among = co_await own_race();
  os::socket_address const a = raw(to);
  auto const attempt = [what, &a](int fd) { return os::send(fd, what, &a); };
  static_cast<void>(
      co_await until_done(std::move(of), direction::writing, attempt, io_errors("send_to", error), among));
}

} // namespace

} // namespace detail

using time_point = std::chrono::steady_clock::time_point;

void socket_base::close() noexcept {
  if (state_ != nullptr) state_->close();
}
bool socket_base::is_open() const noexcept { return state_ != nullptr && !state_->is_closed(); }
int socket_base::native_handle() const noexcept { return is_open() ? state_->fd() : -1; }
address socket_base::local_address() const {
  os::socket_address a;
  detail::with_fd(state_, "local_address", [&](int fd) { return os::local_address(fd, a); });
  return detail::made(a);
}

task<std::size_t> stream_socket::read_some(bytes_to_fill into) const {
  return detail::receive(state_, into, never, nullptr);
}
task<std::size_t> stream_socket::read_some(bytes_to_fill into, std::error_code& error) const {
  return detail::receive(state_, into, never, &error);
}
task<std::size_t> stream_socket::read_some(bytes_to_fill into, time_point deadline) const {
  return detail::receive(state_, into, deadline, nullptr);
}
task<std::size_t> stream_socket::read_some(bytes_to_fill into, time_point deadline,
                                           std::error_code& error) const {
  return detail::receive(state_, into, deadline, &error);
}
task<void> stream_socket::write_all(bytes_to_send what) const {
  return detail::send_all(state_, what, never, nullptr);
}
task<void> stream_socket::write_all(bytes_to_send what, std::error_code& error) const {
  return detail::send_all(state_, what, never, &error);
}
task<void> stream_socket::write_all(bytes_to_send what, time_point deadline) const {
  return detail::send_all(state_, what, deadline, nullptr);
}
task<void> stream_socket::write_all(bytes_to_send what, time_point deadline, std::error_code& error) const {
  return detail::send_all(state_, what, deadline, &error);
}
void stream_socket::shutdown(socket_end which) const {
  os::ends const e = which == socket_end::receiving ? os::ends::receiving
                     : which == socket_end::sending ? os::ends::sending
                                                    : os::ends::both;
  detail::with_fd(state_, "shutdown", [e](int fd) { return os::shut_down(fd, e); });
}
address stream_socket::peer_address() const {
  os::socket_address a;
  detail::with_fd(state_, "peer_address", [&](int fd) { return os::peer_address(fd, a); });
  return detail::made(a);
}

void tcp_socket::set_no_delay(bool on) const {
  detail::with_fd(state_, "set_no_delay", [on](int fd) { return os::set_no_delay(fd, on); });
}
task<tcp_socket> tcp_socket::connect(address server, time_point deadline) {
  std::shared_ptr<detail::descriptor> d = co_await detail::connect(server, deadline, nullptr);
  co_return no_delay(std::move(d));
}
task<tcp_socket> tcp_socket::connect(address server, std::error_code& error) {
  return connect(server, never, error);
}
task<tcp_socket> tcp_socket::connect(address server, time_point deadline, std::error_code& error) {
  std::shared_ptr<detail::descriptor> d = co_await detail::connect(server, deadline, &error);
  co_return no_delay(std::move(d));
}
tcp_socket tcp_socket::no_delay(std::shared_ptr<detail::descriptor> d) {
  if (d != nullptr) static_cast<void>(os::set_no_delay(d->fd(), true));
  return tcp_socket(std::move(d));
}

tcp_listener::tcp_listener(address const& at, int backlog)
    : socket_base(detail::listening(at, backlog)) {}
task<tcp_socket> tcp_listener::accept() const { return accept_at(state_, nullptr); }
task<tcp_socket> tcp_listener::accept(std::error_code& error) const { return accept_at(state_, &error); }
task<tcp_socket> tcp_listener::accept_at(std::shared_ptr<detail::descriptor> at, std::error_code* error) {
  detail::race_entry const among = co_await detail::own_race();
  std::shared_ptr<detail::descriptor> d = co_await detail::accept(std::move(at), error, among);
  co_return tcp_socket::no_delay(std::move(d));
}

task<unix_socket> unix_socket::connect(address server, time_point deadline) {
  std::shared_ptr<detail::descriptor> d = co_await detail::connect(server, deadline, nullptr);
  co_return unix_socket(std::move(d));
}
task<unix_socket> unix_socket::connect(address server, std::error_code& error) {
  return connect(server, never, error);
}
task<unix_socket> unix_socket::connect(address server, time_point deadline, std::error_code& error) {
  std::shared_ptr<detail::descriptor> d = co_await detail::connect(server, deadline, &error);
  co_return unix_socket(std::move(d));
}

unix_listener::unix_listener(address const& at, int backlog)
    : socket_base(detail::listening(at, backlog)) {}
task<unix_socket> unix_listener::accept() const { return accept_at(state_, nullptr); }
task<unix_socket> unix_listener::accept(std::error_code& error) const { return accept_at(state_, &error); }
task<unix_socket> unix_listener::accept_at(std::shared_ptr<detail::descriptor> at, std::error_code* error) {
  detail::race_entry const among = co_await detail::own_race();
  std::shared_ptr<detail::descriptor> d = co_await detail::accept(std::move(at), error, among);
  co_return unix_socket(std::move(d));
}

udp_socket::udp_socket(address const& at)
    : socket_base(detail::bound(at, os::transport::datagram)) {}
task<udp_socket::datagram> udp_socket::receive_from(bytes_to_fill into) const {
  return detail::receive_datagram(state_, into, nullptr);
}
task<udp_socket::datagram> udp_socket::receive_from(bytes_to_fill into, std::error_code& error) const {
  return detail::receive_datagram(state_, into, &error);
}
task<void> udp_socket::send_to(bytes_to_send what, address to) const {
  return detail::send_datagram(state_, what, to, nullptr);
}
task<void> udp_socket::send_to(bytes_to_send what, address to, std::error_code& error) const {
  return detail::send_datagram(state_, what, to, &error);
}

} // namespace rubato
