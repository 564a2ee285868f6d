// Sockets, whose operations are awaited in coroutines.
//
//   #include <rubato/socket.hpp>
//   #include <rubato/spawn.hpp>
//
//   #include <cstdio>
//
//   rubato::task<void> answer(rubato::tcp_listener& listener) {
//     rubato::tcp_socket s = co_await listener.accept();
//     co_await s.write_all("hello");
//   }
//   int main() {
//     rubato::tcp_listener listener(rubato::address::loopback(0));
//     auto server = rubato::spawn(answer(listener));
//     auto s = rubato::block_on(rubato::tcp_socket::connect(listener.local_address()));
//     char text[8];
//     std::size_t const n = rubato::block_on(s.read_some(text));
//     std::printf("%.*s\n", int(n), text); // -> hello
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/address.hpp"
#include "rubato/task.hpp"
#include "rubato/time.hpp"

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

class descriptor;

template<class T>
concept byte_like = std::same_as<std::remove_cv_t<T>, std::byte> || std::same_as<std::remove_cv_t<T>, char> ||
                    std::same_as<std::remove_cv_t<T>, unsigned char>;

template<class R>
concept bytes = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                byte_like<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

} // namespace detail

/// Bytes of the caller's, to be filled: from a span, an array, a vector or a string of `std::byte`, `char` or
/// `unsigned char`. They stay the caller's until the operation has ended.
class bytes_to_fill : public std::span<std::byte> {
public:
  /// The bytes of a contiguous range, which must live until the operation has ended.
  template<detail::bytes R>
    requires(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
  bytes_to_fill(R&& r) noexcept // NOLINT: converts, as std::span does
      : span(std::as_writable_bytes(std::span(std::ranges::data(r), std::ranges::size(r)))) {}
};

/// Bytes of the caller's, to be sent. Of a text in quotes the zero byte at its end is left out.
class bytes_to_send : public std::span<std::byte const> {
  template<class R>
  static constexpr bool is_text =
      std::is_array_v<std::remove_reference_t<R>> &&
      std::is_same_v<std::remove_extent_t<std::remove_reference_t<R>>, char const>;

public:
  /// The bytes of a contiguous range, which must live until the operation has ended. Of an array of `char
  /// const`, such as a text in quotes, the zero at its end is left out.
  template<detail::bytes R>
  bytes_to_send(R&& r) noexcept // NOLINT: converts, as std::span does
      : span(std::as_bytes(
            std::span(std::ranges::data(r), std::ranges::size(r) - (is_text<R> ? std::size_t{1} : 0)))) {}
  /// The bytes of a text, without its final zero.
  template<class P>
    requires(std::is_same_v<P, char const*> || std::is_same_v<P, char*>)
  bytes_to_send(P const& text) noexcept // NOLINT: converts
      : bytes_to_send(std::string_view(text)) {}
};

/// The ends of a connection that shutdown() closes.
enum class socket_end : unsigned char { receiving, sending, both };

/// What all sockets have in common. Movable; a socket that was moved from is closed. Thread-safe, but for
/// moves and the destructor: one task may read while another writes and a third closes. One task at a time
/// may wait in each direction; the operation of a second throws `device_or_resource_busy`.
///
/// Operations throw std::system_error with the system's error, `bad_file_descriptor` if the socket is closed,
/// `operation_canceled` if it is closed meanwhile; and cancelled if the task is stopped or its pool ends.
/// With a `std::error_code&` as the last argument they never throw these: it is set instead, to
/// `operation_canceled` after a stop, and the result is empty. The error code and the bytes must live until
/// the operation has ended. An operation of a task that was stopped, or whose pool ends, is not begun.
///
/// An accept(), read_some(), receive_from() or send_to() that is passed to when_any() directly and loses has
/// had no effect: it has taken no connection and no bytes. A connect() or write_all() that loses is asked to
/// stop, and may have had effects, as any operation that a task of the caller's awaits.
class socket_base {
protected:
  std::shared_ptr<detail::descriptor> state_; ///< null: closed
  socket_base() noexcept = default;
  explicit socket_base(std::shared_ptr<detail::descriptor> s) noexcept
      : state_(std::move(s)) {}
  socket_base(socket_base&&) noexcept = default;
  socket_base& operator=(socket_base&& other) noexcept {
    if (this != &other) {
      close();
      state_ = std::move(other.state_);
    }
    return *this;
  }
  ~socket_base() { close(); } // an operation that waits has a reference, too

public:
  /// Ends the operations that wait, as `operation_canceled`, and closes the descriptor when those that run
  /// have returned. The destructor does the same. No effect on a closed socket.
  void close() noexcept;
  /// True until close(), and unless the socket was moved from.
  [[nodiscard]] bool is_open() const noexcept;
  /// For system calls that Rubato does not wrap, such as setsockopt(2); -1: it is closed. It stays the
  /// socket's.
  [[nodiscard]] int native_handle() const noexcept;
  /// Its own address, with the port that the system chose. Throws std::system_error.
  [[nodiscard]] address local_address() const;
};

/// One end of a stream of bytes.
class stream_socket : public socket_base {
protected:
  using socket_base::socket_base;
  stream_socket() noexcept = default;
  ~stream_socket() = default;

public:
  /// Leaves the other socket closed.
  stream_socket(stream_socket&&) noexcept = default;
  /// Drops this socket as the destructor does; leaves the other one closed.
  stream_socket& operator=(stream_socket&&) noexcept = default;

  /// co_await: waits until there are bytes and takes as many as there are, at most `into.size()`. 0: the
  /// other end sends no more.
  [[nodiscard]] task<std::size_t> read_some(bytes_to_fill into) const;
  [[nodiscard]] task<std::size_t> read_some(bytes_to_fill into, std::error_code& error) const;
  /// The same until a deadline; then it fails with `timed_out`, and has taken nothing. It costs a timer,
  /// which is armed only if the operation has to wait.
  [[nodiscard]] task<std::size_t> read_some(bytes_to_fill into,
                                            std::chrono::steady_clock::time_point deadline) const;
  [[nodiscard]] task<std::size_t>
  read_some(bytes_to_fill into, std::chrono::steady_clock::time_point deadline, std::error_code& error) const;
  /// co_await: sends all of `what`, waiting as often as the other end is slow to receive. If it fails, an
  /// unknown number of the bytes has been sent.
  [[nodiscard]] task<void> write_all(bytes_to_send what) const;
  [[nodiscard]] task<void> write_all(bytes_to_send what, std::error_code& error) const;
  /// The same until a deadline, for all the bytes together.
  [[nodiscard]] task<void> write_all(bytes_to_send what,
                                     std::chrono::steady_clock::time_point deadline) const;
  [[nodiscard]] task<void> write_all(bytes_to_send what, std::chrono::steady_clock::time_point deadline,
                                     std::error_code& error) const;
  /// Sends no more, or receives no more: the other end reads 0 after the last byte. Throws std::system_error.
  void shutdown(socket_end which = socket_end::sending) const;
  /// The other end's address. Throws std::system_error.
  [[nodiscard]] address peer_address() const;
};

/// One end of a TCP connection.
class tcp_socket : public stream_socket {
  using stream_socket::stream_socket;
  friend class tcp_listener;
  [[nodiscard]] static tcp_socket no_delay(std::shared_ptr<detail::descriptor> d);

public:
  /// Closed.
  tcp_socket() noexcept = default;
  /// co_await: a connection to a server. Throws as an operation does, and with `timed_out` at the deadline.
  [[nodiscard]] static task<tcp_socket> connect(address server,
                                                std::chrono::steady_clock::time_point deadline = never);
  [[nodiscard]] static task<tcp_socket> connect(address server, std::error_code& error);
  [[nodiscard]] static task<tcp_socket>
  connect(address server, std::chrono::steady_clock::time_point deadline, std::error_code& error);
  /// Small writes are sent at once (TCP_NODELAY), as they are by default. Throws std::system_error.
  void set_no_delay(bool on) const;
};

/// Waits for connections.
class tcp_listener : public socket_base {
public:
  /// Listens at once. `backlog`: connections that the system accepts before accept() does. Throws
  /// std::system_error: the address is in use, or not this machine's.
  explicit tcp_listener(address const& at, int backlog = 4096);
  /// co_await: the next connection. If the process has no descriptor left, the listener refuses connections,
  /// and waits, until there is one.
  [[nodiscard]] task<tcp_socket> accept() const;
  [[nodiscard]] task<tcp_socket> accept(std::error_code& error) const;

private:
  static task<tcp_socket> accept_at(std::shared_ptr<detail::descriptor> at, std::error_code* error);
};

/// The same as tcp_socket, between processes of one machine.
class unix_socket : public stream_socket {
  using stream_socket::stream_socket;
  friend class unix_listener;

public:
  /// Closed.
  unix_socket() noexcept = default;
  /// As tcp_socket::connect().
  [[nodiscard]] static task<unix_socket> connect(address server,
                                                 std::chrono::steady_clock::time_point deadline = never);
  [[nodiscard]] static task<unix_socket> connect(address server, std::error_code& error);
  [[nodiscard]] static task<unix_socket>
  connect(address server, std::chrono::steady_clock::time_point deadline, std::error_code& error);
};

/// The same as tcp_listener. The file at its path is the caller's to remove, before and afterwards.
class unix_listener : public socket_base {
public:
  /// As tcp_listener's constructor.
  explicit unix_listener(address const& at, int backlog = 4096);
  /// At a path; see address::local().
  explicit unix_listener(std::string const& path, int backlog = 4096)
      : unix_listener(address::local(path), backlog) {}
  /// As tcp_listener::accept().
  [[nodiscard]] task<unix_socket> accept() const;
  [[nodiscard]] task<unix_socket> accept(std::error_code& error) const;

private:
  static task<unix_socket> accept_at(std::shared_ptr<detail::descriptor> at, std::error_code* error);
};

/// Datagrams.
class udp_socket : public socket_base {
public:
  /// Where a datagram came from, and its size. A datagram that is larger than the bytes to fill is cut.
  struct datagram {
    std::size_t size = 0; ///< in bytes
    address from;         ///< the sender
  };
  /// Receives at this address. Throws std::system_error.
  explicit udp_socket(address const& at);
  /// co_await: the next datagram.
  [[nodiscard]] task<datagram> receive_from(bytes_to_fill into) const;
  [[nodiscard]] task<datagram> receive_from(bytes_to_fill into, std::error_code& error) const;
  /// co_await: hands a datagram to the system. It may be lost on its way, as any datagram.
  [[nodiscard]] task<void> send_to(bytes_to_send what, address to) const;
  [[nodiscard]] task<void> send_to(bytes_to_send what, address to, std::error_code& error) const;
};

} // namespace rubato
