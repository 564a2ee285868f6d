// The stream that a `buffered` reads: an object of its own, one of the caller's, or a descriptor.
#pragma once

#include "rubato/detail/io/read_descriptor.hpp"
#include "rubato/socket.hpp"
#include "rubato/task.hpp"

#include <chrono>
#include <concepts>
#include <cstddef>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// Reads as a socket does.
template<class S>
concept readable_stream = requires(S& s, bytes_to_fill into, std::chrono::steady_clock::time_point deadline,
                                   std::error_code& error) {
  { s.read_some(into, deadline) } -> std::same_as<rubato::task<std::size_t>>;
  { s.read_some(into, deadline, error) } -> std::same_as<rubato::task<std::size_t>>;
};

template<class S>
[[nodiscard]] rubato::task<std::size_t> read_stream(S& s, std::span<std::byte> into,
                                                    std::chrono::steady_clock::time_point deadline,
                                                    std::error_code* error) {
  return error != nullptr ? s.read_some(into, deadline, *error) : s.read_some(into, deadline);
}

/// Of its own. It says itself that it was moved from.
template<class S>
class held_stream {
  S stream_;

public:
  using passed = S&&;
  explicit held_stream(S&& s) noexcept(std::is_nothrow_move_constructible_v<S>)
      : stream_(std::move(s)) {}
  [[nodiscard]] S& get() noexcept { return stream_; }
  [[nodiscard]] rubato::task<std::size_t>
  read(std::span<std::byte> into, std::chrono::steady_clock::time_point deadline, std::error_code* error) {
    return read_stream(stream_, into, deadline, error);
  }
};

/// One of the caller's.
template<class S>
class held_stream<S&> {
  S* stream_;

public:
  using passed = S&;
  explicit held_stream(S& s) noexcept
      : stream_(&s) {}
  held_stream(held_stream&& other) noexcept
      : stream_(std::exchange(other.stream_, nullptr)) {}
  held_stream& operator=(held_stream&& other) noexcept {
    stream_ = std::exchange(other.stream_, nullptr);
    return *this;
  }
  ~held_stream() = default;
  [[nodiscard]] S& get() noexcept { return *stream_; }
  [[nodiscard]] rubato::task<std::size_t>
  read(std::span<std::byte> into, std::chrono::steady_clock::time_point deadline, std::error_code* error) {
    if (stream_ == nullptr) return read_descriptor(-1, into, deadline, error); // moved from
    return read_stream(*stream_, into, deadline, error);
  }
};

/// A descriptor, which the caller closes.
template<>
class held_stream<int> {
  int fd_;

public:
  using passed = int;
  explicit held_stream(int fd) noexcept
      : fd_(fd) {}
  held_stream(held_stream&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}
  held_stream& operator=(held_stream&& other) noexcept {
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~held_stream() = default;
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] rubato::task<std::size_t> read(std::span<std::byte> into,
                                               std::chrono::steady_clock::time_point deadline,
                                               std::error_code* error) const {
    return read_descriptor(fd_, into, deadline, error);
  }
};

/// What is held for an argument of that type: descriptors are copied.
template<class S>
using held_for =
    std::conditional_t<std::same_as<std::remove_cvref_t<S>, int>, int,
                       std::conditional_t<std::is_lvalue_reference_v<S>, S, std::remove_cv_t<S>>>;

template<class S>
concept bufferable = std::same_as<std::remove_cvref_t<S>, int> || readable_stream<std::remove_reference_t<S>>;

} // namespace rubato::detail
