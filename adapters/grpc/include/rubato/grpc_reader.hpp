// What reads a stream of gRPC, and what writes one. rubato/grpc_stream.hpp has an example.
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/grpc/grpc_flow.hpp"

#include <grpcpp/support/client_callback.h>

namespace rubato {

/// The messages that arrive in a stream. grpc_stream() and grpc_handle() pass it to their callable, and it
/// lives as long as what that returns. One read at a time; beside it a write may be in flight, by another
/// task of a scope in that coroutine. Not otherwise thread-safe.
template<class T>
class grpc_reader : detail::grpc_flow {
  virtual void start_read(T& message) = 0;

protected:
  ~grpc_reader() = default;
  [[nodiscard]] detail::grpc_flow& flow() noexcept { return *this; }

public:
  /// `co_await read(message)`: true if it has stored the next message. False: the other side has ended its
  /// messages, or the call is over; every later read yields false too. A client learns from the status which
  /// of the two. A server's coroutine is stopped soon if it is the second.
  ///
  /// If the awaiting task is stopped, the call is cancelled, and the read throws `cancelled`, unless a
  /// message had come. The message is used until the read has ended, and not afterwards. gRPC cannot withdraw
  /// a read: one that loses a race, or whose deadline passes, cancels the call.
  [[nodiscard]] auto read(T& message) {
    auto const start = [this, &message] { start_read(message); };
    return detail::grpc_step_of<decltype(start)>(*this, start, false);
  }
};

/// The messages that are sent in a stream: as grpc_reader.
template<class T>
class grpc_writer : detail::grpc_flow {
  virtual void start_write(T const& message, ::grpc::WriteOptions o) = 0;

protected:
  ~grpc_writer() = default;
  [[nodiscard]] detail::grpc_flow& flow() noexcept { return *this; }

public:
  /// `co_await write(message)`: true if gRPC has taken the message, which waits while the other side reads
  /// too slowly. It is no acknowledgement. False: the call is over; every later write yields false too. A
  /// stop is as in grpc_reader::read(). After options.set_last_message() nothing may be written.
  ///
  /// What would let gRPC hold the message until the next one, or until the end of a server's call, is left
  /// out of the options: the write would not end before. So a buffer hint has no effect.
  [[nodiscard]] auto write(T const& message, ::grpc::WriteOptions options = {}) {
    options.clear_buffer_hint();
    auto const start = [this, &message, options] { start_write(message, options); };
    return detail::grpc_step_of<decltype(start)>(*this, start, options.is_last_message());
  }
};

/// The same for a client, which can tell the server that it has written all its messages.
template<class T>
class grpc_client_writer : public grpc_writer<T> {
  virtual void start_writes_done() = 0;

protected:
  ~grpc_client_writer() = default;
  /// The same as writes_done(), without a wait, for the end of the callable. Nothing is in flight.
  void end_writing() noexcept {
    static_cast<void>(this->flow().begin(nullptr, [this] { start_writes_done(); }, true));
  }

public:
  /// `co_await writes_done()`: the server's reads yield false when they have read all messages. A callable
  /// that returns does the same. Yields false if the call is over, or this was said before.
  [[nodiscard]] auto writes_done() {
    auto const start = [this] { start_writes_done(); };
    return detail::grpc_step_of<decltype(start)>(this->flow(), start, true);
  }
};

} // namespace rubato
