// The members of the chat, and how a line reaches all of them.
#pragma once

#include <rubato/rubato.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace chat {

/// A line on its way to many members: one copy of the text.
using line = std::shared_ptr<const std::string>;

/// A connection that has given its name.
struct member {
  std::string name;
  rubato::buffered<rubato::tcp_socket> client;
  rubato::channel<line> outbox; ///< written to the socket by the member's own writer

  member(std::string n, rubato::buffered<rubato::tcp_socket> c, std::size_t lines)
      : name(std::move(n))
      , client(std::move(c))
      , outbox(lines) {}
};

/// Thread-safe.
class room {
  std::mutex mutex_; // not held while anything waits
  std::vector<std::shared_ptr<member>> members_;
  const std::chrono::milliseconds patience_;

public:
  explicit room(std::chrono::milliseconds patience)
      : patience_(patience) {}

  /// From then on the member hears the others. False: the name is taken.
  bool enter(const std::shared_ptr<member>& m);
  void leave(const member& m);

  /// Puts the line into every outbox but the speaker's. While one is full the speaker waits: that is the back
  /// pressure. A member that has taken no line for as long as the room's patience is disconnected.
  rubato::task<void> say(const member& speaker, std::string text);
};

} // namespace chat
