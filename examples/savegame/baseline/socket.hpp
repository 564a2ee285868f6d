// A connection in the manner of rubato::tcp_socket.
#pragma once

#include "task.hpp"
#include "waiting.hpp"

#include <chrono>
#include <cstddef>
#include <rubato/socket.hpp>
#include <string_view>
#include <system_error>
#include <utility>

namespace savegame::baseline {

class socket {
  int fd_;

public:
  /// Owns a descriptor that does not block.
  explicit socket(int fd) noexcept
      : fd_(fd) {}
  socket(socket&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}
  socket& operator=(socket&&) = delete;
  ~socket();

  task<std::size_t> read_some(rubato::bytes_to_fill into, time_point deadline, std::error_code& error) const;
  task<void> write_all(rubato::bytes_to_send what, time_point deadline, std::error_code& error) const;
  void shutdown(rubato::socket_end which) const;
  task<bool> close_gracefully(time_point deadline, std::error_code& error);
};

} // namespace savegame::baseline
