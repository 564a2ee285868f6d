// A channel of which each receiver gets every value: events for any number of listeners.
//
//   #include <rubato/broadcast_channel.hpp>
//   #include <rubato/spawn.hpp>
//
//   #include <cstdio>
//
//   rubato::task<int> sum(rubato::broadcast_channel<int>::receiver numbers) {
//     int s = 0;
//     for (auto n = co_await numbers.receive(); n; n = co_await numbers.receive()) s += *n;
//     co_return s; // closed
//   }
//
//   int main() {
//     rubato::broadcast_channel<int> numbers(16); // for a receiver that is up to 16 values late
//     auto a = rubato::spawn(sum(numbers.subscribe())), b = rubato::spawn(sum(numbers.subscribe()));
//     for (int n : {1, 2, 3}) numbers.send(n);
//     numbers.close();
//     std::printf("%d %d\n", a.get(), b.get()); // -> 6 6
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/async_sync/broadcast_core.hpp"
#include "rubato/detail/async_sync/channel_operations.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace rubato {

template<class T>
class broadcast_channel;

/// Receives the values that are sent from subscribe() on. It may outlive the channel, whose end closes it.
/// Movable, but not while a coroutine waits for receive(). One coroutine or thread at a time may use a
/// receiver; different receivers are independent.
template<class T>
class broadcast_receiver {
  friend class broadcast_channel<T>;
  detail::broadcast_reader<T> reader_;

  explicit broadcast_receiver(detail::counted_ref<detail::broadcast_core<T>> of) noexcept
      : reader_(std::move(of)) {}

public:
  /// co_await receive(): waits until there is a value, and yields the oldest that this receiver has not
  /// received and the channel still holds. Yields nullopt if the channel is closed and there is none, or if
  /// the wait is stopped. A receive() that loses a race, or is stopped, has had no effect. If the copy of the
  /// value throws, the value is lost for this receiver. The receiver must live until the wait has ended.
  [[nodiscard]] auto receive() noexcept { return detail::news_awaiter(reader_); }
  /// For select(): receives, and calls f(std::optional<T>) with the result.
  template<class F>
  [[nodiscard]] auto receiving(F&& f) {
    return detail::selected(receive(), std::forward<F>(f));
  }
  /// Receives without waiting. Yields nullopt if there is no value.
  [[nodiscard]] std::optional<T> try_receive() { return reader_.take(); }
  /// The number of values that this receiver has lost since its last call of lagged(): they were overwritten
  /// before it received them.
  [[nodiscard]] std::uint64_t lagged() noexcept { return reader_.take_lost(); }
  /// True after close(), and when the channel is gone. There may still be values to receive.
  [[nodiscard]] bool is_closed() const noexcept { return reader_.source().is_closed(); }
};

/// Sends each value to all receivers, and never waits for them: it holds the last `capacity` values, and a
/// receiver that is later than that loses the oldest, of which lagged() tells. Thread-safe: any number of
/// senders, whose values arrive at all receivers in the same order. A send takes one allocation and O(waiting
/// receivers); a wait allocates nothing. A value is destroyed as soon as all its receivers have received it,
/// or are gone.
///
/// T is a copyable object type. It is copied, moved and destroyed without a lock, so these operations of T
/// may use the channel. The last receiver of a value gets it by a move. Source: the broadcast channel of
/// tokio.
template<class T>
class broadcast_channel {
  static_assert(std::is_object_v<T> && !std::is_const_v<T> && std::is_copy_constructible_v<T>,
                "rubato: broadcast_channel<T>: T must be an object type that can be copied");
  detail::counted_ref<detail::broadcast_core<T>> core_;

public:
  /// T.
  using value_type = T;
  /// What subscribe() makes.
  using receiver = broadcast_receiver<T>;

  /// Throws std::invalid_argument if the capacity is 0. Takes memory for that many pointers at once.
  explicit broadcast_channel(std::size_t capacity)
      : core_(detail::make_in_slab<detail::broadcast_core<T>>(capacity)) {}
  broadcast_channel(broadcast_channel const&) = delete;
  broadcast_channel& operator=(broadcast_channel const&) = delete;
  /// Closes it.
  ~broadcast_channel() { close(); }

  /// Sends without waiting. Returns the number of receivers that the value was sent to. Returns 0 if there
  /// are none, and after close(); the value is dropped then. If the copy or move of the value throws, nothing
  /// has been sent.
  std::size_t send(T const& value) {
    return core_->is_received() ? core_->send(detail::publish_value<T>(value)) : 0;
  }
  std::size_t send(T&& value) {
    return core_->is_received() ? core_->send(detail::publish_value<T>(std::move(value))) : 0;
  }
  /// A receiver of all values that are sent from now on.
  [[nodiscard]] receiver subscribe() const { return receiver(core_); }
  /// Refuses further values. Receivers get what the channel still holds, then nullopt.
  void close() noexcept { core_->close(); }
  /// True after close().
  [[nodiscard]] bool is_closed() const noexcept { return core_->is_closed(); }
  /// The constructor's argument.
  [[nodiscard]] std::size_t capacity() const noexcept { return core_->capacity(); }
};

} // namespace rubato
