// As much of the protobuf encoding as a trace needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace rubato::detail {

/// A message while it is written. Fields may come in any order.
class protobuf_message {
  std::string bytes_;

  void put_varint(std::uint64_t n) {
    for (; n >= 128; n >>= 7U) bytes_ += static_cast<char>(static_cast<unsigned char>(n | 128U));
    bytes_ += static_cast<char>(static_cast<unsigned char>(n));
  }
  void put_key(unsigned field, unsigned wire_type) { put_varint(field << 3U | wire_type); }

public:
  void number(unsigned field, std::uint64_t n) {
    put_key(field, 0);
    put_varint(n);
  }
  void fixed64(unsigned field, std::uint64_t n) {
    put_key(field, 1);
    for (unsigned i = 0; i != 8; ++i)
      bytes_ += static_cast<char>(static_cast<unsigned char>(n >> (8 * i) & 255U));
  }
  void text(unsigned field, std::string_view t) {
    put_key(field, 2);
    put_varint(t.size());
    bytes_ += t;
  }
  void message(unsigned field, protobuf_message const& m) { text(field, m.bytes_); }

  [[nodiscard]] std::string const& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::string take() noexcept { return std::move(bytes_); }
};

} // namespace rubato::detail
