// The connections that wait for a request, to end them when the server ends.
#pragma once

#include <rubato/socket.hpp>

#include <mutex>
#include <system_error>
#include <unordered_set>

namespace savegame {

template<class Socket>
class idle_connections {
  std::mutex mutex_;
  std::unordered_set<const Socket*> idle_;
  bool closing_ = false;

public:
  /// While it lives the connection is one of those that close() ends.
  class listing {
    idle_connections& all_;
    const Socket& socket_;

  public:
    listing(idle_connections& all, const Socket& s)
        : all_(all)
        , socket_(s) {
      const std::lock_guard lock(all_.mutex_);
      all_.idle_.insert(&socket_);
      if (all_.closing_) end(socket_);
    }
    listing(const listing&) = delete;
    listing& operator=(const listing&) = delete;
    ~listing() {
      const std::lock_guard lock(all_.mutex_);
      all_.idle_.erase(&socket_);
    }
  };

  bool closing() {
    const std::lock_guard lock(mutex_);
    return closing_;
  }
  /// Each reads the end of its stream, and so does each that is listed from now on.
  void close() {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    for (const Socket* s : idle_) end(*s);
  }

private:
  static void end(const Socket& s) {
    try {
      s.shutdown(rubato::socket_end::receiving);
    } catch (const std::system_error&) { // NOLINT(bugprone-empty-catch): its client has gone
    }
  }
};

} // namespace savegame
