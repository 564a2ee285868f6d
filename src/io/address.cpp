#include "rubato/address.hpp"

#include "io/raw_address.hpp"
#include "rubato/thread_pool.hpp"

#include <cstring>
#include <stdexcept>

namespace rubato {

using detail::made;
using detail::raw;

address address::from_bytes(void const* sockaddr, std::size_t size) {
  address a;
  if (size > sizeof a.bytes_) throw std::invalid_argument("rubato: no address has so many bytes");
  std::memcpy(a.bytes_, sockaddr, size);
  a.size_ = static_cast<std::uint32_t>(size);
  return a;
}

address::address(std::string const& host, std::uint16_t port) {
  os::socket_address r;
  if (!os::parse_ip(host, port, r))
    throw std::invalid_argument("rubato: \"" + host +
                                "\" is no numeric address; co_await resolve() finds those of a name");
  *this = made(r);
}

address address::any(std::uint16_t port) { return {"0.0.0.0", port}; }
address address::loopback(std::uint16_t port) { return {"127.0.0.1", port}; }

address address::local(std::string const& path) {
  os::socket_address r;
  if (!os::make_unix_address(path, r))
    throw std::invalid_argument("rubato: the path of a Unix socket has 1 to 107 bytes, none of them zero");
  return made(r);
}

std::string address::host() const { return os::host_of(raw(*this)); }
std::uint16_t address::port() const noexcept { return os::port_of(raw(*this)); }

std::string address::to_string() const {
  os::socket_address const r = raw(*this);
  switch (os::family_of(r)) {
  case os::family::v4:
    return host() + ":" + std::to_string(port());
  case os::family::v6:
    return std::string("[").append(host()).append("]:").append(
        std::to_string(port())); // g++ 12 warns of "[" +
  case os::family::unix:
  case os::family::none:
    break;
  }
  return host();
}

bool address::operator==(address const& other) const noexcept {
  return size_ == other.size_ && std::memcmp(bytes_, other.bytes_, size_) == 0;
}

task<std::vector<address>> resolve(std::string host, std::string service) {
  std::vector<address> found;
  for (os::socket_address const& a : blocking([&] { return os::look_up(host, service); }))
    found.push_back(made(a));
  co_return found;
}

} // namespace rubato
