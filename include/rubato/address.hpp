// Addresses of sockets.
//
//   #include <rubato/address.hpp>
//   #include <rubato/spawn.hpp>
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

/// An IPv4 or IPv6 address with a port, or the path of a Unix socket. A value: copies are independent.
class address {
  alignas(8) std::byte bytes_[128] = {};
  std::uint32_t size_ = 0;

public:
  /// Empty: the address of a socket that has none.
  address() noexcept = default;
  /// A numeric address such as "127.0.0.1" or "::1". Throws std::invalid_argument if it is none: names are
  /// for resolve().
  address(std::string const& host, std::uint16_t port);
  /// Every IPv4 interface of this machine, to listen on. Port 0: the system chooses one.
  [[nodiscard]] static address any(std::uint16_t port);
  /// 127.0.0.1.
  [[nodiscard]] static address loopback(std::uint16_t port);
  /// The path of a Unix socket; one that begins with a zero byte is a name outside the file system. Throws
  /// std::invalid_argument if it is empty or longer than the system allows (107 bytes).
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
  /// From a `sockaddr`. Throws std::invalid_argument if it is larger than any.
  [[nodiscard]] static address from_bytes(void const* sockaddr, std::size_t size);

  friend bool operator==(address const& a, address const& b) noexcept;
};

/// co_await resolve(host, service): the addresses of a host, in the order in which the system's resolver
/// prefers them. The service is a name or a port in digits; empty: port 0. The resolver runs as blocking()
/// code, so no worker is held up; a stop does not interrupt it. Throws std::system_error, whose message says
/// what the resolver says.
[[nodiscard]] task<std::vector<address>> resolve(std::string host, std::string service);

} // namespace rubato
