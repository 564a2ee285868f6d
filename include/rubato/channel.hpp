// Channels pass values from one coroutine to another.
//
//   #include <rubato/channel.hpp>
//   #include <rubato/spawn.hpp>
//
//   #include <cstdio>
//
//   rubato::task<void> count(rubato::channel<int>& out) {
//     bool const sent = co_await out.send(7); // waits while the buffer is full
//     if (sent) out.close();                  // not if (co_await ...): docs/gcc12-coroutines.md
//   }
//
//   int main() {
//     rubato::channel<int> numbers(4);
//     rubato::future<void> counter = rubato::spawn(count(numbers));
//     while (auto n = numbers.receive_blocking()) std::printf("%d\n", *n); // -> 7
//     counter.get();
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/async_sync/channel_operations.hpp"
#include "rubato/detail/base/value_in_std.hpp"

#include <concepts>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

namespace rubato {

/// A first-in, first-out queue between coroutines that holds up to `capacity` values. With capacity 0, a
/// sender waits until a receiver takes its value. Thread-safe: any number of senders and receivers may use
/// it, on any threads and pools. Waiters at either end are served in order of arrival, and each resumes on
/// its own pool. Each operation takes O(1), in a short critical section. A wait allocates nothing; the buffer
/// grows with its content. The channel must outlive its waiters.
///
/// T is a movable object type, a reference, or void. The channel copies, moves and destroys values without
/// holding a lock, so these operations of T may use the channel. A value whose move or destructor is not
/// trivial travels in a block of memory from a cache. If the copy or move into the channel throws, send()
/// throws and has sent nothing. If the move out of the channel throws, receive() throws and the value is
/// lost.
///
/// A stop request ends a wait as close() does: receive() yields nullopt, send() yields false. Source: the
/// channels of C. A. R. Hoare's CSP (1978).
template<class T>
class channel {
  using core_type = detail::channel_core<detail::value_in_std<T>>;
  core_type core_;

public:
  /// T.
  using value_type = T;
  /// T; std::monostate for void, std::reference_wrapper for a reference.
  using stored_type = detail::value_in_std<T>;

  /// Buffers up to `capacity` values. With 0, each sender waits for a receiver.
  explicit channel(std::size_t capacity) noexcept
      : core_(capacity) {
    static_assert(std::is_void_v<T> || std::is_reference_v<T> || std::is_move_constructible_v<T>,
                  "rubato: channel<T>: T must be movable, a reference or void");
  }
  channel(channel const&) = delete;
  channel& operator=(channel const&) = delete;
  ~channel() = default;

  /// co_await send(value): waits while the buffer is full. Yields true when the value is in the buffer or
  /// received. Yields false if the channel is closed or the wait is stopped; then a value that was passed as
  /// an rvalue is moved back into its place. That object must live until the await ends: write co_await
  /// c.send(...) in one expression, or keep the object.
  auto send(stored_type&& value) noexcept {
    return detail::send_awaiter<stored_type, stored_type&&>(core_, std::move(value));
  }
  auto send(stored_type const& value)
    requires std::copy_constructible<stored_type>
  {
    return detail::send_awaiter<stored_type, stored_type>(core_, value);
  }
  auto send() noexcept
    requires std::is_void_v<T>
  {
    return detail::send_awaiter<stored_type, stored_type>(core_, stored_type());
  }
  /// co_await receive(): waits while the channel is empty. Yields the next value, or nullopt if the channel
  /// is closed and empty or the wait is stopped.
  auto receive() noexcept { return detail::receive_awaiter<stored_type>(core_); }

  /// For select(): receives, and calls f(std::optional<stored_type>) with the result.
  template<class F>
  [[nodiscard]] auto receiving(F&& f) {
    return detail::selected(receive(), std::forward<F>(f));
  }
  /// For select(): sends, and calls f(bool) with the result.
  template<class F>
  [[nodiscard]] auto sending(stored_type&& value, F&& f) {
    return detail::selected(send(std::move(value)), std::forward<F>(f));
  }
  template<class F>
  [[nodiscard]] auto sending(stored_type const& value, F&& f)
    requires std::copy_constructible<stored_type>
  {
    return detail::selected(send(value), std::forward<F>(f));
  }

  /// As co_await send(value), but blocks the calling thread. If a task calls it, another thread may take the
  /// task's seat meanwhile. Use it in code that is no coroutine; a waiting coroutine costs less than a
  /// waiting thread.
  [[nodiscard]] bool send_blocking(stored_type&& value) {
    return detail::send_and_wait(core_, std::move(value));
  }
  [[nodiscard]] bool send_blocking(stored_type const& value)
    requires std::copy_constructible<stored_type>
  {
    return detail::send_and_wait(core_, value);
  }
  [[nodiscard]] bool send_blocking()
    requires std::is_void_v<T>
  {
    return detail::send_and_wait(core_, stored_type());
  }
  /// As co_await receive(), but blocks the calling thread. This and send_blocking() throw std::bad_alloc if
  /// there is no memory for the wait.
  [[nodiscard]] std::optional<stored_type> receive_blocking() { return detail::receive_and_wait(core_); }

  /// Sends without waiting. Returns false and leaves the value in place if the buffer is full or the channel
  /// is closed.
  [[nodiscard]] bool try_send(stored_type&& value) { return detail::send_at_once(core_, std::move(value)); }
  [[nodiscard]] bool try_send(stored_type const& value)
    requires std::copy_constructible<stored_type>
  {
    return detail::send_at_once(core_, value);
  }
  [[nodiscard]] bool try_send()
    requires std::is_void_v<T>
  {
    return detail::send_at_once(core_, stored_type());
  }
  /// Receives without waiting. Returns nullopt if there is no value.
  [[nodiscard]] std::optional<stored_type> try_receive() { return detail::receive_at_once(core_); }

  /// Refuses further values. Waiting senders get false, waiting receivers nullopt; buffered values can still
  /// be received. If there are several senders, call it when the last of them has ended: a sender that closes
  /// the channel when it ends refuses the values that the others still hold.
  void close() noexcept { core_.close(); }
  /// True after close(). The buffer may still hold values.
  [[nodiscard]] bool is_closed() const noexcept { return core_.is_closed(); }
  /// The constructor's argument.
  [[nodiscard]] std::size_t capacity() const noexcept { return core_.capacity(); }
};

} // namespace rubato
