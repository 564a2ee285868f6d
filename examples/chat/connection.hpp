// One connection of the chat, from its name to its end.
#pragma once

#include "room.hpp"

#include <rubato/rubato.hpp>

#include <cstddef>

namespace chat {

struct limits {
  std::size_t line_bytes = 1024;
  std::size_t outbox_lines = 64;
};

/// The first line is the name, each further one is said to all others. Its errors are its own: an exception
/// that left it would stop the whole scope.
rubato::task<void> converse(room& r, rubato::tcp_socket socket, limits l);

} // namespace chat
