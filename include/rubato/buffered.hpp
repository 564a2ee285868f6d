// Reading lines and messages of known length from a stream of bytes.
//
//   #include <rubato/buffered.hpp>
//   #include <rubato/spawn.hpp>
//
//   #include <cstdio>
//   #include <unistd.h>
//
//   rubato::task<void> show_lines(int fd) {
//     rubato::buffered in(fd);
//     auto const first = co_await in.read_line(80), last = co_await in.read_line(80);
//     std::printf("%s, %s\n", first->c_str(), last->c_str()); // -> one, two
//   }
//   int main() {
//     int ends[2];
//     bool const sent = pipe(ends) == 0 && write(ends[1], "one\r\ntwo", 8) == 8;
//     close(ends[1]);
//     if (sent) rubato::block_on(show_lines(ends[0]));
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/base/in_use.hpp"
#include "rubato/detail/io/byte_queue.hpp"
#include "rubato/detail/io/held_stream.hpp"
#include "rubato/readiness.hpp"
#include "rubato/socket.hpp"
#include "rubato/task.hpp"
#include "rubato/time.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace rubato {

/// The common part of all `buffered`: the operations. Each is awaited: `co_await in.read_line(80)`.
///
/// **What stays.** An operation that does not yield its result has consumed nothing: all bytes that it has
/// fetched stay in the buffer, for the next operation. This holds after an error, a deadline, a stop, too
/// long a text, and for an operation that is passed to when_any() directly and loses.
///
/// **Errors** are those of the stream's own read_some(), with and without a `std::error_code&`. One operation
/// at a time may run: a second one fails with `device_or_resource_busy`. A `buffered` that was moved from
/// reports `bad_file_descriptor`. If there is no memory for bytes that must stay, every later operation fails
/// with `not_enough_memory`.
///
/// **Deadlines** are points in time or durations, and apply to the operation as a whole. What is in the
/// buffer is taken, however late.
///
/// **Memory.** None before the first read; then 4 KiB, and up to eight times the limit of the text that is
/// being read, until the buffer is empty again. A read_exactly() or read_some() into 4 KiB or more reads into
/// the caller's memory directly.
///
/// Not thread-safe, except that a second operation is told. It must not be moved or destroyed while an
/// operation runs.
class RUBATO_API buffered_base {
  detail::byte_queue bytes_;
  detail::in_use in_use_;
  bool lost_ = false; ///< bytes, for want of memory
  class operation;

  virtual task<std::size_t> fetch(std::span<std::byte> into, std::chrono::steady_clock::time_point deadline,
                                  std::error_code* error) = 0;
  task<std::size_t> fill(bytes_to_fill into, std::size_t least,
                         std::chrono::steady_clock::time_point deadline, std::error_code* error);
  task<std::optional<std::string>> until(std::string delimiter, bool is_line, std::size_t limit,
                                         std::chrono::steady_clock::time_point deadline,
                                         std::error_code* error);

protected:
  buffered_base() noexcept = default;
  buffered_base(buffered_base&& other) noexcept;
  buffered_base& operator=(buffered_base&& other) noexcept;
  ~buffered_base() = default;

public:
  /// co_await read_exactly(into): fills the memory, and yields its size. Yields fewer only if the stream ends
  /// before.
  [[nodiscard]] task<std::size_t> read_exactly(bytes_to_fill into, detail::deadline deadline = never);
  [[nodiscard]] task<std::size_t> read_exactly(bytes_to_fill into, std::error_code& error);
  [[nodiscard]] task<std::size_t> read_exactly(bytes_to_fill into, detail::deadline deadline,
                                               std::error_code& error);
  /// co_await read_some(into): what is in the buffer, or else what the stream has next: at most `into.size()`
  /// bytes. Yields their number, 0 at the end of the stream. For what follows the last line or message, when
  /// the protocol changes.
  [[nodiscard]] task<std::size_t> read_some(bytes_to_fill into, detail::deadline deadline = never);
  [[nodiscard]] task<std::size_t> read_some(bytes_to_fill into, std::error_code& error);
  [[nodiscard]] task<std::size_t> read_some(bytes_to_fill into, detail::deadline deadline,
                                            std::error_code& error);
  /// co_await read_until(delimiter, limit): yields the bytes before the next delimiter, and consumes both.
  /// The bytes may be any, zeros included. The last text of the stream may lack its delimiter. At the end of
  /// the stream it yields nullopt.
  ///
  /// `limit`: the most bytes that a text may have, without the delimiter; 0: only empty texts. As soon as it
  /// is certain that the text is longer, read_until() throws std::length_error; with an `std::error_code&` it
  /// reports `message_size` instead. Throws std::invalid_argument if the delimiter is empty. The delimiter is
  /// copied.
  [[nodiscard]] task<std::optional<std::string>> read_until(std::string_view delimiter, std::size_t limit,
                                                            detail::deadline deadline = never);
  [[nodiscard]] task<std::optional<std::string>> read_until(std::string_view delimiter, std::size_t limit,
                                                            std::error_code& error);
  [[nodiscard]] task<std::optional<std::string>> read_until(std::string_view delimiter, std::size_t limit,
                                                            detail::deadline deadline,
                                                            std::error_code& error);
  /// co_await read_line(limit): as read_until(), for lines that end with "\n" or "\r\n". Neither is part of
  /// the result, or counts for the limit. For lines whose "\r" counts use `read_until("\n", limit)`.
  [[nodiscard]] task<std::optional<std::string>> read_line(std::size_t limit,
                                                           detail::deadline deadline = never);
  [[nodiscard]] task<std::optional<std::string>> read_line(std::size_t limit, std::error_code& error);
  [[nodiscard]] task<std::optional<std::string>> read_line(std::size_t limit, detail::deadline deadline,
                                                           std::error_code& error);
};

/// Reads a stream through a buffer. The argument says what the stream is:
///   - `buffered in(std::move(socket))` owns the socket, and closes it with its own end;
///   - `buffered in(socket)` refers to a socket, which must outlive it;
///   - `buffered in(fd)` copies the descriptor of a pipe, terminal, socket or file, and never closes it: call
///     forget() before you do. It waits with readable() and then calls read(2), so the descriptor may be
///     blocking if nothing else reads from it. Regular files are read in blocking(), without a deadline;
///   - any other object with the two operations `read_some(bytes, deadline)` and `read_some(bytes, deadline,
///     error)` of a socket is held as a socket is.
///
/// Writing needs no buffer: `co_await in.stream().write_all("answer\n")`. One task may write while another
/// reads.
template<class S>
class buffered final : public buffered_base {
  detail::held_stream<S> stream_;

  task<std::size_t> fetch(std::span<std::byte> into, std::chrono::steady_clock::time_point deadline,
                          std::error_code* error) override {
    return stream_.read(into, deadline, error);
  }

public:
  /// Reads nothing yet.
  explicit buffered(typename detail::held_stream<S>::passed stream)
      : stream_(static_cast<typename detail::held_stream<S>::passed>(stream)) {}
  /// With what is in the buffer. Leaves the other one without a stream.
  buffered(buffered&&) noexcept = default;
  /// What was in the buffer is lost.
  buffered& operator=(buffered&&) noexcept = default;
  ~buffered() = default;

  /// The socket or other object, or the descriptor as an `int`: to write, to close, for its address. What is
  /// read from it directly passes the bytes in the buffer by. Not after a move.
  [[nodiscard]] decltype(auto) stream() noexcept { return stream_.get(); }
};

/// An lvalue is referred to, and must outlive it; an rvalue is moved into it.
template<class S>
  requires detail::bufferable<S>
buffered(S&&) -> buffered<detail::held_for<S>>;

} // namespace rubato
