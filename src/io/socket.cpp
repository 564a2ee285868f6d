#include "rubato/socket.hpp"

#include "coro/own_race.hpp"
#include "io/descriptor.hpp"
#include "io/raw_address.hpp"
#include "rubato/detail/base/atomics.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

namespace {

using time_point = std::chrono::steady_clock::time_point;

descriptor_ref own(int fd) {
  try {
    return descriptor_ref(new descriptor(fd));
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
  io_hold const held(d.get());
  if (held.is_open(io_errors(what, nullptr))) checked(f(held.fd()), what);
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

// The operations of carry_out(). `attempt`: one system call; -1 without an error: it has been in vain.
// `advance`: after a call that has done so much; true: the operation is complete. `is_raced`: passed to
// when_any() directly, the operation takes effect only if it wins. `turn`: what an operation of several steps
// has to take before the first.

struct receive_some {
  using result = std::size_t;
  static constexpr direction way = direction::reading;
  static constexpr bool is_raced = true;
  bytes_to_fill into;

  [[nodiscard]] os::io_result attempt(int fd) const noexcept { return os::receive(fd, into); }
  [[nodiscard]] static bool advance(std::size_t /*n*/) noexcept { return true; }
  [[nodiscard]] static result take(std::size_t n) noexcept { return n; }
};

struct send_rest {
  using result = void;
  static constexpr direction way = direction::writing;
  // A step of several must not win, or a peer that reads no more would hold up the others.
  static constexpr bool is_raced = false;
  using turn = sending_turn;
  std::span<std::byte const> rest;

  [[nodiscard]] os::io_result attempt(int fd) const noexcept { return os::send(fd, rest, nullptr); }
  [[nodiscard]] bool advance(std::size_t n) noexcept {
    rest = rest.subspan(n);
    return rest.empty();
  }
  static void take(std::size_t /*n*/) noexcept {}
};

struct receive_one {
  using result = udp_socket::datagram;
  static constexpr direction way = direction::reading;
  static constexpr bool is_raced = true;
  bytes_to_fill into;
  os::socket_address from{};

  [[nodiscard]] os::io_result attempt(int fd) noexcept { return os::receive_from(fd, into, from); }
  [[nodiscard]] static bool advance(std::size_t /*n*/) noexcept { return true; }
  [[nodiscard]] result take(std::size_t n) const { return {n, made(from)}; }
};

struct send_one {
  using result = void;
  static constexpr direction way = direction::writing;
  static constexpr bool is_raced = true;
  bytes_to_send what;
  os::socket_address to;

  [[nodiscard]] os::io_result attempt(int fd) const noexcept { return os::send(fd, what, &to); }
  [[nodiscard]] static bool advance(std::size_t /*n*/) noexcept { return true; }
  static void take(std::size_t /*n*/) noexcept {}
};

/// The result is the descriptor, or nothing. `is_short`: there is no descriptor for one, or no memory.
struct accept_one {
  using result = std::optional<int>;
  static constexpr direction way = direction::reading;
  static constexpr bool is_raced = false; // its caller is
  race_entry among;
  bool& is_short;

  [[nodiscard]] os::io_result attempt(int fd) const noexcept {
    os::io_result const r = os::accept_from(fd);
    bool const no_descriptor = r.error == EMFILE || r.error == ENFILE;
    is_short = no_descriptor || r.error == ENOBUFS || r.error == ENOMEM;
    if (no_descriptor) refuse_connections(fd);
    return is_short ? os::io_result{.value = -1, .error = 0} : r;
  }
  [[nodiscard]] static bool advance(std::size_t /*n*/) noexcept { return true; }
  [[nodiscard]] static result take(std::size_t n) noexcept { return static_cast<int>(n); }
};

/// For an operation of one step.
struct no_turn {
  using turn = no_turn;
  [[nodiscard]] static bool take(io_hold const& /*at*/) noexcept { return true; }
};
template<class Operation>
struct turn_for : no_turn {};
template<class Operation>
  requires requires { typename Operation::turn; }
struct turn_for<Operation> {
  using turn = typename Operation::turn;
};
template<class Operation>
using turn_of = typename turn_for<Operation>::turn;

/// Tries an operation, and again after each event, until it need not wait. An empty result: it has failed,
/// which was reported. It is not tried any more when another operation has won its race; when it succeeds, or
/// its error is a value, it wins. In one function: another coroutine for a part of it would be another frame.
template<class Operation>
rubato::task<typename Operation::result> carry_out(io_hold passed, Operation what, io_errors errors,
                                                   time_point deadline = never) {
  using result = typename Operation::result;
  constexpr direction d = Operation::way;
  constexpr bool reads_stream = std::is_same_v<Operation, receive_some>;
  io_hold const of(
      std::move(passed)); // a parameter would keep the descriptor open as long as the task object
  race_entry among;
  if constexpr (Operation::is_raced)
    among = co_await own_race();
  else if constexpr (requires { what.among; })
    among = what.among;
  errors.clear();
  if (!of.is_open(errors)) co_return result();
  turn_of<Operation> turn; // ends before the hold
  if (!turn.take(of)) {
    errors.report(std::errc::device_or_resource_busy);
    co_return result();
  }
  bool begins = true;
  // In a race, what is there at the beginning is taken: the reader tries.
  bool may_skip = reads_stream && among.race == nullptr;
  for (;;) {
    if (std::exchange(begins, false)) {
      co_await ready_wait();
      if (is_stopped()) {
        errors.report_stop();
        co_return result();
      }
    }
    os::io_result r{.value = -1, .error = EAGAIN};
    slot_seen before{};
    bool skipped = false;
    bool const may_try = try_in_race(among, [&] {
      before = of.before_try(d);
      skipped = may_skip && of.is_known_empty(before);
      if (skipped) return false;
      r = what.attempt(of.fd());
      // What close() has ended looks as if the peer had ended it. close() closes the gate first, and the
      // kernel's lock of the socket orders its call and this one.
      if (of.is_closing() && (r.error != 0 ? !r.would_wait() : reads_stream && r.value == 0))
        r = {.value = -1, .error = ECANCELED};
      return r.error == 0 ? r.value >= 0 : errors.are_values() && !r.would_wait();
    });
    if (!may_try) {
      errors.report_stop();
      co_return result();
    }
    if (r.error == 0) {
      auto const n = static_cast<std::size_t>(r.value);
      if constexpr (reads_stream) of.note_read(before, what.into.size(), n);
      begins = !what.advance(n);
      if (!begins) co_return what.take(n);
      if (!of.is_closing()) continue;
      errors.report(std::errc::bad_file_descriptor);
      co_return result();
    }
    auto e = static_cast<std::errc>(r.error);
    if (r.would_wait()) {
      io_wait wait = of.wait(d, before, deadline);
      e = co_await wait;
      if (e == std::errc()) continue;
      if (wait.was_stopped()) {
        errors.report_stop();
        co_return result();
      }
      if (skipped && e == std::errc::timed_out) { // what is there is taken, however late
        may_skip = false;
        continue;
      }
    }
    errors.report(e);
    co_return result();
  }
}

/// Nothing is sent, and nothing is found to be wrong with the socket.
rubato::task<void> send_nothing(std::error_code* error) {
  if (error != nullptr) error->clear();
  co_return;
}

rubato::task<std::size_t> receive(descriptor_ref const& of, bytes_to_fill into, time_point deadline,
                                  std::error_code* error) {
  return carry_out(io_hold(of.get()), receive_some{into}, io_errors("read_some", error), deadline);
}

rubato::task<void> send_all(descriptor_ref const& of, bytes_to_send what, time_point deadline,
                            std::error_code* error) {
  if (what.empty()) return send_nothing(error);
  return carry_out(io_hold(of.get()), send_rest{what}, io_errors("write_all", error), deadline);
}

rubato::task<udp_socket::datagram> receive_datagram(descriptor_ref const& of, bytes_to_fill into,
                                                    std::error_code* error) {
  return carry_out(io_hold(of.get()), receive_one{into}, io_errors("receive_from", error));
}

rubato::task<void> send_datagram(descriptor_ref const& of, bytes_to_send what, address const& to,
                                 std::error_code* error) {
  return carry_out(io_hold(of.get()), send_one{what, raw(to)}, io_errors("send_to", error));
}

/// Null: it has failed, which was reported.
rubato::task<descriptor_ref> accept(io_hold of, std::error_code* error, race_entry among) {
  constexpr auto pause = std::chrono::milliseconds(10);
  io_errors const errors("accept", error);
  for (;;) {
    bool is_short = false;
    accept_one const one{among, is_short};
    std::optional<int> const fd = co_await carry_out(of.another(), one, errors);
    if (!fd) co_return nullptr;
    if (!is_short) co_return own(*fd, errors);
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

/// One of the tasks of the process that wait for room in a backlog. The child of a fork() counts those of the
/// parent, too: its pauses are longer.
class backlog_waiter {
  static inline constinit relaxed<unsigned> waiting;

public:
  backlog_waiter() noexcept { waiting.add(1); }
  backlog_waiter(backlog_waiter const&) = delete;
  backlog_waiter& operator=(backlog_waiter const&) = delete;
  ~backlog_waiter() { waiting.add(0U - 1U); }

  /// Before the next try: all waiters together make 4,000 tries a second, however many they are.
  [[nodiscard]] static std::chrono::microseconds longest_pause() noexcept {
    return std::max<std::chrono::microseconds>(std::chrono::milliseconds(64),
                                               std::chrono::microseconds(250) * waiting.get());
  }
};

/// A Unix listener whose backlog is full tells of no event. Throws cancelled.
rubato::task<os::io_result> connect_when_there_is_room(int fd, os::socket_address const& server,
                                                       time_point deadline) {
  backlog_waiter const counted;
  std::chrono::microseconds pause = std::chrono::milliseconds(1);
  for (;; pause = std::min(2 * pause, backlog_waiter::longest_pause())) {
    co_await sleep_until(std::min(deadline, deadline_after(pause)));
    if (std::chrono::steady_clock::now() >= deadline)
      co_return os::io_result{.value = -1, .error = ETIMEDOUT};
    os::io_result const r = os::connect_to(fd, server);
    if (r.error != EAGAIN) co_return r;
  }
}

/// Null: it has failed, which was reported.
rubato::task<descriptor_ref> connect_once(os::socket_address const& server, time_point deadline,
                                          io_errors errors) {
  os::io_result r = os::make_socket(server, os::transport::stream);
  if (r.error != 0) {
    errors.report(static_cast<std::errc>(r.error));
    co_return nullptr;
  }
  descriptor_ref d = own(static_cast<int>(r.value), errors);
  if (d == nullptr) co_return nullptr;
  io_hold const held(d.get());
  bool stopped = is_stopped();
  slot_seen const before = held.before_try(direction::writing);
  if (!stopped) r = os::connect_to(held.fd(), server);
  if (!stopped && r.error == EAGAIN) {
    try {
      r = co_await connect_when_there_is_room(held.fd(), server, deadline);
    } catch (cancelled const&) {
      stopped = true;
    }
  }
  if (!stopped && r.error == EINPROGRESS) {
    io_wait wait = held.wait(direction::writing, before, deadline);
    std::errc const e = co_await wait;
    stopped = wait.was_stopped();
    r = e == std::errc() ? os::connected(held.fd())
                         : os::io_result{.value = -1, .error = static_cast<int>(e)};
  }
  if (stopped) {
    errors.report_stop();
    co_return nullptr;
  }
  if (r.error == 0) co_return std::move(d);
  errors.report(static_cast<std::errc>(r.error));
  co_return nullptr;
}

rubato::task<descriptor_ref> connect(address server, time_point deadline, std::error_code* error) {
  constexpr int most_tries = 3;
  io_errors const errors("connect", error);
  errors.clear();
  os::socket_address const a = raw(server);
  for (int n = 0; n != most_tries; ++n) {
    descriptor_ref d = co_await connect_once(a, deadline, errors);
    if (d == nullptr || os::family_of(a) == os::family::unix || !os::is_connected_to_itself(d->fd()))
      co_return std::move(d);
    os::reset_at_close(d->fd()); // a server may want the port
  }
  errors.report(std::errc::connection_refused);
  co_return nullptr;
}

/// Closes the socket in any case.
rubato::task<bool> close_at_end(io_hold passed, time_point deadline, std::error_code* error) {
  io_errors const errors("close_gracefully", error);
  errors.clear();
  closing_hold const of(std::move(passed));
  bool stopped = is_stopped();
  std::errc e = of.is_the_first() ? std::errc() : std::errc::bad_file_descriptor;
  // Its error says that the connection has ended before, of which the first read tells.
  if (!stopped && e == std::errc()) static_cast<void>(os::shut_down(of.fd(), os::ends::sending));
  while (!stopped && e == std::errc()) {
    os::io_result const r = os::discard_received(of.fd());
    if (r.error == 0 && r.value == 0) co_return true;
    if (r.error != 0 && !r.would_wait()) {
      e = static_cast<std::errc>(r.error);
      break;
    }
    // A peer that always sends more would hold this task up.
    if (std::chrono::steady_clock::now() >= deadline) co_return false;
    io_wait wait = of.wait_for_input(deadline);
    e = co_await wait;
    stopped = wait.was_stopped();
    if (e == std::errc::timed_out) e = std::errc(); // the end may be there
  }
  if (stopped)
    errors.report_stop();
  else
    errors.report(e);
  co_return false;
}

} // namespace

} // namespace detail

void detail::descriptor_drop::operator()(descriptor* d) const noexcept { d->drop(); }

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

task<std::size_t> stream_socket::read_some(bytes_to_fill into, detail::deadline deadline) const {
  return detail::receive(state_, into, deadline.at, nullptr);
}
task<std::size_t> stream_socket::read_some(bytes_to_fill into, std::error_code& error) const {
  return detail::receive(state_, into, never, &error);
}
task<std::size_t> stream_socket::read_some(bytes_to_fill into, detail::deadline deadline,
                                           std::error_code& error) const {
  return detail::receive(state_, into, deadline.at, &error);
}
task<void> stream_socket::write_all(bytes_to_send what, detail::deadline deadline) const {
  return detail::send_all(state_, what, deadline.at, nullptr);
}
task<void> stream_socket::write_all(bytes_to_send what, std::error_code& error) const {
  return detail::send_all(state_, what, never, &error);
}
task<void> stream_socket::write_all(bytes_to_send what, detail::deadline deadline,
                                    std::error_code& error) const {
  return detail::send_all(state_, what, deadline.at, &error);
}
task<bool> stream_socket::close_gracefully(detail::deadline deadline) {
  return detail::close_at_end(detail::io_hold(state_.get()), deadline.at, nullptr);
}
task<bool> stream_socket::close_gracefully(detail::deadline deadline, std::error_code& error) {
  return detail::close_at_end(detail::io_hold(state_.get()), deadline.at, &error);
}
void stream_socket::shutdown(socket_end which) const {
  os::ends const e = which == socket_end::receiving ? os::ends::receiving
                     : which == socket_end::sending ? os::ends::sending
                                                    : os::ends::both;
  auto const ended = static_cast<detail::directions>(
      (which != socket_end::sending ? detail::bit(detail::direction::reading) : 0) |
      (which != socket_end::receiving ? detail::bit(detail::direction::writing) : 0));
  detail::io_hold const held(state_.get());
  if (!held.is_open(detail::io_errors("shutdown", nullptr))) return;
  detail::checked(os::shut_down(held.fd(), e), "shutdown");
  held.end_waits_of(ended); // the kernel does not tell the waiting writer of a Unix socket
}
address stream_socket::peer_address() const {
  os::socket_address a;
  detail::with_fd(state_, "peer_address", [&](int fd) { return os::peer_address(fd, a); });
  return detail::made(a);
}

void tcp_socket::set_no_delay(bool on) const {
  detail::with_fd(state_, "set_no_delay", [on](int fd) { return os::set_no_delay(fd, on); });
}
task<tcp_socket> tcp_socket::connect(address server, detail::deadline deadline) {
  detail::descriptor_ref d = co_await detail::connect(server, deadline.at, nullptr);
  co_return no_delay(std::move(d));
}
task<tcp_socket> tcp_socket::connect(address server, std::error_code& error) {
  return connect(server, never, error);
}
task<tcp_socket> tcp_socket::connect(address server, detail::deadline deadline, std::error_code& error) {
  detail::descriptor_ref d = co_await detail::connect(server, deadline.at, &error);
  co_return no_delay(std::move(d));
}
tcp_socket tcp_socket::no_delay(detail::descriptor_ref d) {
  if (d != nullptr) {
    d->set_short_reads_empty();
    static_cast<void>(os::set_no_delay(d->fd(), true));
  }
  return tcp_socket(std::move(d));
}

tcp_listener::tcp_listener(address const& at, int backlog)
    : socket_base(detail::listening(at, backlog)) {}
task<tcp_socket> tcp_listener::accept() const { return accept_at(detail::io_hold(state_.get()), nullptr); }
task<tcp_socket> tcp_listener::accept(std::error_code& error) const {
  return accept_at(detail::io_hold(state_.get()), &error);
}
task<tcp_socket> tcp_listener::accept_at(detail::io_hold at, std::error_code* error) {
  detail::race_entry const among = co_await detail::own_race();
  detail::descriptor_ref d = co_await detail::accept(std::move(at), error, among);
  co_return tcp_socket::no_delay(std::move(d));
}

task<unix_socket> unix_socket::connect(address server, detail::deadline deadline) {
  detail::descriptor_ref d = co_await detail::connect(server, deadline.at, nullptr);
  co_return unix_socket(std::move(d));
}
task<unix_socket> unix_socket::connect(address server, std::error_code& error) {
  return connect(server, never, error);
}
task<unix_socket> unix_socket::connect(address server, detail::deadline deadline, std::error_code& error) {
  detail::descriptor_ref d = co_await detail::connect(server, deadline.at, &error);
  co_return unix_socket(std::move(d));
}

unix_listener::unix_listener(address const& at, int backlog)
    : socket_base(detail::listening(at, backlog)) {}
task<unix_socket> unix_listener::accept() const { return accept_at(detail::io_hold(state_.get()), nullptr); }
task<unix_socket> unix_listener::accept(std::error_code& error) const {
  return accept_at(detail::io_hold(state_.get()), &error);
}
task<unix_socket> unix_listener::accept_at(detail::io_hold at, std::error_code* error) {
  detail::race_entry const among = co_await detail::own_race();
  detail::descriptor_ref d = co_await detail::accept(std::move(at), error, among);
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
