// Addresses of sockets.
//
//   #include <rubato/address.hpp>
//
//   #include <cstdio>
//
//   int main() {
//     rubato::address const here("127.0.0.1", 8080);
//     std::puts(here.to_string().c_str()); // -> 127.0.0.1:8080
//     std::printf("%d\n", rubato::address("::1", 80).port()); // -> 80
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/task.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rubato {

/// An IPv4 or IPv6 address with a port, or the path of a Unix socket. A value type: copies are independent.
class RUBATO_API address {
  alignas(8) std::byte bytes_[128] = {};
  std::uint32_t size_ = 0;

public:
  /// Empty: the address of a socket that has none.
  address() noexcept = default;
  /// `host`: a numeric address such as "127.0.0.1" or "::1"; anything else throws std::invalid_argument. To
  /// look up a name, use resolve().
  address(std::string const& host, std::uint16_t port);
  /// Every IPv4 interface of this machine, to listen on. Port 0: the system chooses one.
  [[nodiscard]] static address any(std::uint16_t port);
  /// 127.0.0.1.
  [[nodiscard]] static address loopback(std::uint16_t port);
  /// The address of a Unix socket. A path that begins with a zero byte is a name outside the file system.
  /// Throws std::invalid_argument if the path is empty or longer than the system allows (107 bytes), or if
  /// one in the file system contains a zero byte.
  [[nodiscard]] static address local(std::string const& path);

  /// The address without its port, or the path.
  [[nodiscard]] std::string host() const;
  /// 0 for a Unix socket.
  [[nodiscard]] std::uint16_t port() const noexcept;
  /// "127.0.0.1:80", "[::1]:80", or the path.
  [[nodiscard]] std::string to_string() const;

  /// The `sockaddr` and its size, for the system's own functions.
  [[nodiscard]] void const* data() const noexcept { return bytes_; }
  /// The size of data() in bytes.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// From a `sockaddr` of `size` bytes. Throws std::invalid_argument if `size` is larger than that of any
  /// address.
  [[nodiscard]] static address from_bytes(void const* sockaddr, std::size_t size);

  /// The same family, host and port, or path.
  [[nodiscard]] bool operator==(address const& other) const noexcept;
};

/// co_await resolve(host, service): yields the addresses of a host, in the resolver's order of preference.
/// `service` is a name or a port in digits, from 0 to 65535; empty means port 0. The resolver runs in
/// blocking(), so it occupies no seat; a stop does not interrupt it. Throws std::system_error with the
/// resolver's message, also for a port that is none, and std::invalid_argument if a text contains a zero
/// byte. Source: getaddrinfo(3).
[[nodiscard]] RUBATO_API task<std::vector<address>> resolve(std::string host, std::string service);

} // namespace rubato
