// A public address and the one of the system calls.
#pragma once

#include "os/io/socket.hpp"
#include "rubato/address.hpp"

#include <cstring>

namespace rubato::detail {

[[nodiscard]] inline os::socket_address raw(address const& a) noexcept {
  os::socket_address r;
  std::memcpy(r.bytes, a.data(), a.size());
  r.size = static_cast<std::uint32_t>(a.size());
  return r;
}
[[nodiscard]] inline address made(os::socket_address const& r) {
  return address::from_bytes(r.bytes, r.size);
}

} // namespace rubato::detail
