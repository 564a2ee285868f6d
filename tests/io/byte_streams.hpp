// A stream of each kind that `buffered` reads, and its other end, to which a test writes as it likes.
#pragma once

#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <ostream>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include "io/descriptors.hpp"
#include "support/loopback.hpp"

namespace rubato_test {

enum class stream_kind { tcp, local, pipe };
inline std::ostream& operator<<(std::ostream& to, stream_kind k) {
  return to << (k == stream_kind::tcp ? "TCP" : k == stream_kind::local ? "a Unix socket" : "a pipe");
}
/// Without a network there is no TCP.
inline std::vector<stream_kind> stream_kinds() {
  std::vector<stream_kind> all{stream_kind::local, stream_kind::pipe};
  if (has_loopback()) all.push_back(stream_kind::tcp);
  return all;
}

/// The address of a Unix socket without a file.
inline rubato::address fresh_local_address() {
  static std::atomic<int> number{0};
  using namespace std::string_literals;
  return rubato::address::local("\0rubato-stream-"s + std::to_string(::getpid()) + "-" +
                                std::to_string(++number));
}

template<class Socket>
struct connected {
  Socket client, server;
};
template<class Socket, class Listener>
connected<Socket> connect_to(rubato::pool& pool, Listener const& listener) {
  auto accepted = pool.spawn(listener.accept());
  auto made = pool.spawn(Socket::connect(listener.local_address()));
  connected<Socket> c;
  c.client = made.get();
  c.server = accepted.get();
  return c;
}
inline connected<rubato::tcp_socket> connect_tcp(rubato::pool& pool) {
  rubato::tcp_listener const listener(rubato::address::loopback(0));
  return connect_to<rubato::tcp_socket>(pool, listener);
}
inline connected<rubato::unix_socket> connect_local(rubato::pool& pool) {
  rubato::unix_listener const listener(fresh_local_address());
  return connect_to<rubato::unix_socket>(pool, listener);
}

/// What the peer sends, to its end.
template<class Socket>
rubato::task<std::string> read_all(Socket const& s) {
  std::string all;
  std::array<char, 10'000> some{};
  for (;;) {
    std::size_t const n = co_await s.read_some(some);
    if (n == 0) co_return all;
    all.append(some.data(), n);
  }
}

/// Writes all, and waits for room in its own thread.
inline void put_all(int to, std::string_view text) {
  while (!text.empty()) {
    pollfd awaited{.fd = to, .events = POLLOUT, .revents = 0};
    ::poll(&awaited, 1, -1);
    ssize_t const n = ::write(to, text.data(), text.size());
    if (n < 0 && errno != EAGAIN) throw std::system_error(errno, std::generic_category());
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

class byte_stream {
  template<class S>
  struct reader {
    rubato::buffered<S> in;
    S other;
  };
  struct pipe_reader {
    ends both;
    rubato::buffered<int> in{both.a.get()};
    explicit pipe_reader(ends e)
        : both(std::move(e)) {}
    pipe_reader(pipe_reader&&) = default;
    pipe_reader& operator=(pipe_reader&&) = default;
    ~pipe_reader() {
      if (both.a.get() >= 0) rubato::forget(both.a.get());
    }
  };
  std::variant<std::monostate, reader<rubato::tcp_socket>, reader<rubato::unix_socket>, pipe_reader> of_;

  template<class S>
  void own(connected<S> c) {
    of_.emplace<reader<S>>(rubato::buffered(std::move(c.server)), std::move(c.client));
  }

public:
  byte_stream(rubato::pool& pool, stream_kind k) {
    if (k == stream_kind::tcp) own(connect_tcp(pool));
    if (k == stream_kind::local) own(connect_local(pool));
    if (k == stream_kind::pipe) of_.emplace<pipe_reader>(make_pipe());
  }
  rubato::buffered_base& in() {
    if (auto* const r = std::get_if<1>(&of_)) return r->in;
    if (auto* const r = std::get_if<2>(&of_)) return r->in;
    return std::get<3>(of_).in;
  }
  /// The descriptor that `in` reads.
  [[nodiscard]] int fd() {
    if (auto* const r = std::get_if<1>(&of_)) return r->in.stream().native_handle();
    if (auto* const r = std::get_if<2>(&of_)) return r->in.stream().native_handle();
    return std::get<3>(of_).in.stream();
  }
  [[nodiscard]] int writing_fd() const {
    if (auto const* const r = std::get_if<1>(&of_)) return r->other.native_handle();
    if (auto const* const r = std::get_if<2>(&of_)) return r->other.native_handle();
    return std::get<3>(of_).both.b.get();
  }
  void put(std::string_view text) const { put_all(writing_fd(), text); }
  void end() {
    if (auto* const r = std::get_if<1>(&of_))
      r->other.shutdown();
    else if (auto* const s = std::get_if<2>(&of_))
      s->other.shutdown();
    else
      std::get<3>(of_).both.b.close();
  }
};

inline std::error_code error_of(auto&& f) {
  try {
    static_cast<void>(f());
    return {};
  } catch (std::system_error const& e) {
    return e.code();
  }
}

} // namespace rubato_test
