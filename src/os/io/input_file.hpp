// A file that is read at any place, even after it has been removed.
#pragma once

#include <cstddef>
#include <utility>

namespace rubato::os {

class input_file {
  int fd_ = -1;

public:
  input_file() noexcept = default;
  input_file(input_file&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}
  input_file& operator=(input_file&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~input_file() { close(); }

  /// Returns zero, or the error.
  [[nodiscard]] int open(char const* path) noexcept;
  void close() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  /// As much as there is from `offset` on. Returns the number of bytes; -1: an error, as errno.
  [[nodiscard]] long read_at(std::size_t offset, char* into, std::size_t bytes) const noexcept;
};

} // namespace rubato::os
