// Sockets, none of whose operations waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rubato::os {

/// What a system call returned.
struct io_result {
  std::ptrdiff_t value = -1;
  int error = 0; ///< an error number; 0: none
  [[nodiscard]] bool would_wait() const noexcept;
};

/// The bytes of a `sockaddr`.
struct socket_address {
  static constexpr std::size_t most = 128;
  alignas(8) std::byte bytes[most] = {};
  std::uint32_t size = 0;
};

enum class transport : unsigned char { stream, datagram };

/// A descriptor in `value`. The family is that of the address.
[[nodiscard]] io_result make_socket(socket_address const& family_of, transport t) noexcept;
/// With SO_REUSEADDR for streams, and for Unix sockets none.
[[nodiscard]] io_result bind_socket(int fd, socket_address const& a, transport t) noexcept;
[[nodiscard]] io_result listen_on(int fd, int backlog) noexcept;
/// The new descriptor, which does not block either.
[[nodiscard]] io_result accept_from(int fd) noexcept;
/// An error that would_wait(): the connection is being made; connected() tells how that ended.
[[nodiscard]] io_result connect_to(int fd, socket_address const& a) noexcept;
[[nodiscard]] io_result connected(int fd) noexcept;
/// The kernel may give a client the very port that it connects to, on this machine: then there is no
/// listener, and the connection is one of the socket with itself.
[[nodiscard]] bool is_connected_to_itself(int fd) noexcept;
/// close() will reset the connection, so that its port is free at once.
void reset_at_close(int fd) noexcept;

[[nodiscard]] io_result receive(int fd, std::span<std::byte> into) noexcept;
/// Throws away what has been received; 0: the end.
[[nodiscard]] io_result discard_received(int fd) noexcept;
/// From any descriptor; it may wait.
[[nodiscard]] io_result read_from(int fd, std::span<std::byte> into) noexcept;
[[nodiscard]] io_result receive_from(int fd, std::span<std::byte> into, socket_address& from) noexcept;
/// Without SIGPIPE. `to`: null if the socket is connected.
[[nodiscard]] io_result send(int fd, std::span<std::byte const> what, socket_address const* to) noexcept;

enum class ends : unsigned char { receiving, sending, both };
[[nodiscard]] io_result shut_down(int fd, ends e) noexcept;
/// Ends both directions of a stream, or the listening; no effect on other sockets.
void end_stream(int fd) noexcept;
[[nodiscard]] io_result set_no_delay(int fd, bool on) noexcept;
[[nodiscard]] io_result local_address(int fd, socket_address& a) noexcept;
[[nodiscard]] io_result peer_address(int fd, socket_address& a) noexcept;

// Addresses. False: the text is no such address. A zero byte is a part of a text, and of no address.
[[nodiscard]] bool parse_ip(std::string const& host, std::uint16_t port, socket_address& a) noexcept;
[[nodiscard]] bool make_unix_address(std::string const& path, socket_address& a) noexcept;
enum class family : unsigned char { none, v4, v6, unix };
[[nodiscard]] family family_of(socket_address const& a) noexcept;
/// An address in text, or the path of a Unix socket; empty: it has none.
[[nodiscard]] std::string host_of(socket_address const& a);
[[nodiscard]] std::uint16_t port_of(socket_address const& a) noexcept;

/// Asks the system's resolver, which may take seconds. Throws std::system_error with the category
/// `resolver_category()`, or generic_category() if the system failed; std::invalid_argument if a text
/// contains a zero byte.
[[nodiscard]] std::vector<socket_address> look_up(std::string const& host, std::string const& service);

/// A descriptor that serves as a reserve when the process has no other left; -1: there is none.
[[nodiscard]] int open_reserve() noexcept;

} // namespace rubato::os
