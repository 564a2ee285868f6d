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
#include "rubato/detail/io/bytes.hpp"
#include "rubato/detail/io/descriptor_ref.hpp"
#include "rubato/task.hpp"
#include "rubato/time.hpp"

#include <cstddef>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {
class io_hold;
}

/// Memory of the caller for received bytes: a span, an array, a vector or a string of `std::byte`, `char` or
/// `unsigned char`.
class bytes_to_fill : public std::span<std::byte> {
public:
  /// The bytes of a contiguous range, which must live until the operation has ended.
  template<detail::bytes R>
    requires(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
  bytes_to_fill(R&& r) noexcept // NOLINT: converts, as std::span does
      : span(std::as_writable_bytes(std::span(std::ranges::data(r), std::ranges::size(r)))) {}
};

/// Bytes of the caller, to be sent: a span, an array, a vector or a string as for bytes_to_fill, or a C
/// string without its final zero.
class bytes_to_send : public std::span<std::byte const> {
  template<class R>
  static constexpr bool is_text =
      std::is_array_v<std::remove_reference_t<R>> &&
      std::is_same_v<std::remove_extent_t<std::remove_reference_t<R>>, char const>;

public:
  /// The bytes of a contiguous range, which must live until the operation has ended. The final zero of an
  /// array of `char const`, such as a string literal, is left out.
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

/// The common part of all sockets. Movable; a socket that was moved from is closed. Thread-safe, except for
/// moves and the destructor: one task may read while another writes and a third closes. One task at a time
/// may wait in each direction; the operation of a second task throws `device_or_resource_busy`. A write_all()
/// has its direction until it ends: a second one throws before it has sent a byte.
///
/// **Errors.** Operations throw std::system_error: with the system's error, with `bad_file_descriptor` if the
/// socket is closed, with `operation_canceled` if the socket is closed during the operation. They throw
/// cancelled if the task is stopped or its pool ends; a later operation of that task does not begin. With a
/// `std::error_code&` as the last argument they throw none of these. They set the error code instead, to
/// `operation_canceled` after a stop, and yield an empty result. The error code and the bytes must live until
/// the operation has ended.
///
/// **In a race.** An accept(), read_some(), receive_from() or send_to() that is passed to when_any() directly
/// and loses has had no effect on the socket: it has taken no connection and no bytes. Its error code, if it
/// has one, is `operation_canceled`. A connect() or write_all() that loses is asked to stop, and may have had
/// effects.
///
/// **Deadlines** are points in time or durations: `read_some(bytes, 2s)`. A duration begins with the call.
///
/// **Cost.** An operation that need not wait makes one system call, and one that waits makes two: it tries
/// before the wait and after it. A tcp_socket::read_some() makes one in both cases if the previous read got
/// fewer bytes than it asked for: then this read waits before it tries. Source: epoll(7), edge-triggered.
class RUBATO_API socket_base {
protected:
  detail::descriptor_ref state_; ///< null: closed. Operations hold it, too
  socket_base() noexcept = default;
  explicit socket_base(detail::descriptor_ref s) noexcept
      : state_(std::move(s)) {}
  socket_base(socket_base&&) noexcept = default;
  socket_base& operator=(socket_base&& other) noexcept = default;
  ~socket_base() = default;

public:
  /// Ends waiting operations with `operation_canceled`. A connection ends in both directions at once, and a
  /// listener listens no more: another one may listen at a TCP address. The descriptor is closed as soon as
  /// no operation is left: neither a running one nor the task of one that has not begun. The destructor does
  /// the same. No effect on a closed socket. In the child of a fork(), the parent's copy stays as it is.
  /// A connection or listener that another process, or dup(2), has a copy of may end for that one, too.
  ///
  /// **Bytes may be lost.** If the peer has sent bytes that were not read, or sends more later, the kernel
  /// resets the connection. Then the peer loses bytes that it has not read yet, although write_all() has
  /// taken them. stream_socket::close_gracefully() avoids that.
  void close() noexcept;
  /// False after close() or a move.
  [[nodiscard]] bool is_open() const noexcept;
  /// The descriptor, for system calls that Rubato does not wrap, such as setsockopt(2), or -1 if the socket
  /// is closed. The socket still owns it.
  [[nodiscard]] int native_handle() const noexcept;
  /// The socket's own address, with the port that the system chose. Throws std::system_error.
  [[nodiscard]] address local_address() const;
};

/// One end of a byte stream: the operations of TCP and Unix sockets.
class RUBATO_API stream_socket : public socket_base {
protected:
  using socket_base::socket_base;
  stream_socket() noexcept = default;
  ~stream_socket() = default;

public:
  /// Leaves the other socket closed.
  stream_socket(stream_socket&&) noexcept = default;
  /// Closes this socket first; leaves the other one closed.
  stream_socket& operator=(stream_socket&&) noexcept = default;

  /// co_await read_some(into): waits until bytes have arrived, reads at most `into.size()` of them and yields
  /// their number. Yields 0 if the peer sends no more. At the deadline it fails with `timed_out`, and has
  /// read nothing. A read that has a deadline arms a timer only if it has to wait.
  [[nodiscard]] task<std::size_t> read_some(bytes_to_fill into, detail::deadline deadline = never) const;
  [[nodiscard]] task<std::size_t> read_some(bytes_to_fill into, std::error_code& error) const;
  [[nodiscard]] task<std::size_t> read_some(bytes_to_fill into, detail::deadline deadline,
                                            std::error_code& error) const;
  /// co_await write_all(what): sends all bytes, and waits whenever the peer receives too slowly. If it fails,
  /// an unknown number of the bytes has been sent. The deadline applies to all the bytes together: when it
  /// passes, write_all() fails with `timed_out`.
  [[nodiscard]] task<void> write_all(bytes_to_send what, detail::deadline deadline = never) const;
  [[nodiscard]] task<void> write_all(bytes_to_send what, std::error_code& error) const;
  [[nodiscard]] task<void> write_all(bytes_to_send what, detail::deadline deadline,
                                     std::error_code& error) const;
  /// Ends sending or receiving, and the waits of tasks for that. After the end of sending, the peer's
  /// read_some() yields 0 when it has read the last byte. Throws std::system_error.
  void shutdown(socket_end which = socket_end::sending) const;
  /// co_await close_gracefully(1s): closes the connection so that the peer gets all bytes that were sent.
  /// Ends sending, reads until the peer does the same, drops what it reads, and closes. Yields true then. At
  /// the deadline it closes nevertheless, and yields false: the peer may miss bytes. The deadline limits a
  /// peer that goes on sending, too.
  ///
  /// From its beginning the socket is closed for all others: operations of other tasks end, as after close(),
  /// and none begins. Whatever comes of it, the socket is closed afterwards: after an error of the
  /// connection, such as `connection_reset`, and if the task is stopped, as well. If the socket was closed
  /// before, it fails with `bad_file_descriptor`. The socket may be destroyed meanwhile.
  [[nodiscard]] task<bool> close_gracefully(detail::deadline deadline);
  [[nodiscard]] task<bool> close_gracefully(detail::deadline deadline, std::error_code& error);
  /// The peer's address. Throws std::system_error.
  [[nodiscard]] address peer_address() const;
};

/// One end of a TCP connection.
class RUBATO_API tcp_socket : public stream_socket {
  using stream_socket::stream_socket;
  friend class tcp_listener;
  [[nodiscard]] static tcp_socket no_delay(detail::descriptor_ref d);

public:
  /// Closed.
  tcp_socket() noexcept = default;
  /// co_await connect(server): yields a connection to a server. Errors as of an operation, and `timed_out` at
  /// the deadline. A port of this machine without a listener refuses it, also if the system has given that
  /// port to this socket itself.
  [[nodiscard]] static task<tcp_socket> connect(address server, detail::deadline deadline = never);
  [[nodiscard]] static task<tcp_socket> connect(address server, std::error_code& error);
  [[nodiscard]] static task<tcp_socket> connect(address server, detail::deadline deadline,
                                                std::error_code& error);
  /// Sets TCP_NODELAY: small writes are sent at once. On by default. Throws std::system_error.
  void set_no_delay(bool on) const;
};

/// Accepts TCP connections.
class RUBATO_API tcp_listener : public socket_base {
public:
  /// Listens at an address. `backlog`: how many connections the system accepts in advance. Throws
  /// std::system_error, for example if the address is in use or does not belong to this machine.
  explicit tcp_listener(address const& at, int backlog = 4096);
  /// co_await accept(): yields the next connection. While the process has no free descriptor, the listener
  /// refuses all connections that wait, and accept() waits.
  [[nodiscard]] task<tcp_socket> accept() const;
  [[nodiscard]] task<tcp_socket> accept(std::error_code& error) const;

private:
  static task<tcp_socket> accept_at(detail::io_hold at, std::error_code* error);
};

/// Like tcp_socket, between processes of one machine.
class RUBATO_API unix_socket : public stream_socket {
  using stream_socket::stream_socket;
  friend class unix_listener;

public:
  /// Closed.
  unix_socket() noexcept = default;
  /// As tcp_socket::connect(). While the listener's backlog is full it tries again, after pauses that grow
  /// from 1 to 64 ms, and beyond if more than 256 tasks wait so.
  [[nodiscard]] static task<unix_socket> connect(address server, detail::deadline deadline = never);
  [[nodiscard]] static task<unix_socket> connect(address server, std::error_code& error);
  [[nodiscard]] static task<unix_socket> connect(address server, detail::deadline deadline,
                                                 std::error_code& error);
};

/// Like tcp_listener. The caller removes the file at its path, before and afterwards.
class RUBATO_API unix_listener : public socket_base {
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
  static task<unix_socket> accept_at(detail::io_hold at, std::error_code* error);
};

/// Sends and receives UDP datagrams.
class RUBATO_API udp_socket : public socket_base {
public:
  /// The size and the sender of a datagram. If it is larger than the memory for it, it is truncated.
  struct datagram {
    std::size_t size = 0; ///< in bytes
    address from;         ///< the sender
  };
  /// Receives at this address. Throws std::system_error.
  explicit udp_socket(address const& at);
  /// co_await receive_from(into): yields the next datagram.
  [[nodiscard]] task<datagram> receive_from(bytes_to_fill into) const;
  [[nodiscard]] task<datagram> receive_from(bytes_to_fill into, std::error_code& error) const;
  /// co_await send_to(what, to): passes a datagram to the system, which may lose it.
  [[nodiscard]] task<void> send_to(bytes_to_send what, address to) const;
  [[nodiscard]] task<void> send_to(bytes_to_send what, address to, std::error_code& error) const;
};

} // namespace rubato
