// A value that changes, and receivers that wait for its changes: configuration, state, progress.
//
//   #include <rubato/spawn.hpp>
//   #include <rubato/watch.hpp>
//
//   #include <cstdio>
//
//   rubato::task<int> follow(rubato::watch<int>::receiver level) {
//     bool more = true;
//     while (more) more = co_await level.changed(); // false: closed
//     co_return level.get(); // a receiver that is late sees the last value
//   }
//
//   int main() {
//     rubato::watch<int> level(0);
//     rubato::future<int> last = rubato::spawn(follow(level.subscribe()));
//     for (int n : {1, 2, 3}) level.set(n);
//     level.close();
//     std::printf("%d\n", last.get()); // -> 3
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/async_sync/watch_core.hpp"

#include <type_traits>
#include <utility>

namespace rubato {

template<class T>
class watch;

/// Follows a watch, from subscribe() on. It may outlive the watch, whose end closes it. Movable, but not
/// while a coroutine waits for changed(); a copy has seen what its original has. One coroutine or thread at a
/// time may use a receiver; different receivers are independent.
template<class T>
class watch_receiver {
  friend class watch<T>;
  detail::watch_reader<T> reader_;

  explicit watch_receiver(detail::counted_ref<detail::watch_core<T>> of) noexcept
      : reader_(std::move(of)) {}

public:
  /// A copy of the value, which counts as seen. If the copy throws, it does not.
  [[nodiscard]] T get() { return reader_.get(); }
  /// co_await changed(): waits until the watch has been set since this receiver's last get() or changed(), or
  /// since subscribe(). Yields true then, at once if it has been already; several sets in between are one
  /// change. Yields false if the watch is closed and nothing was set since, or if the wait is stopped. A
  /// changed() that loses a race, or is stopped, has had no effect. The receiver must live until the wait has
  /// ended.
  [[nodiscard]] auto changed() noexcept { return detail::news_awaiter(reader_); }
  /// True after close(), and when the watch is gone.
  [[nodiscard]] bool is_closed() const noexcept { return reader_.source().is_closed(); }
};

/// Holds a value that any number of receivers can follow. A receiver that is late sees the last value, and
/// not those before: broadcast_channel passes each of them on. Thread-safe. A set takes one allocation, and
/// O(waiting receivers); a wait allocates nothing.
///
/// T is a copyable object type. It is copied, moved and destroyed without a lock, so these operations of T
/// may use the watch. Source: the watch channel of tokio.
template<class T>
class watch {
  static_assert(std::is_object_v<T> && !std::is_const_v<T> && std::is_copy_constructible_v<T>,
                "rubato: watch<T>: T must be an object type that can be copied");
  detail::counted_ref<detail::watch_core<T>> core_;

public:
  /// T.
  using value_type = T;
  /// What subscribe() makes.
  using receiver = watch_receiver<T>;

  /// Starts with this value.
  explicit watch(T&& first)
      : core_(detail::make_in_slab<detail::watch_core<T>>(detail::publish_value<T>(std::move(first)))) {}
  explicit watch(T const& first)
      : core_(detail::make_in_slab<detail::watch_core<T>>(detail::publish_value<T>(first))) {}
  watch(watch const&) = delete;
  watch& operator=(watch const&) = delete;
  /// Closes it.
  ~watch() { close(); }

  /// Replaces the value and wakes the receivers that wait. Returns false, and changes nothing, after close().
  /// If the copy or move of the value throws, nothing has changed.
  bool set(T const& value) { return core_->set(detail::publish_value<T>(value)); }
  bool set(T&& value) { return core_->set(detail::publish_value<T>(std::move(value))); }
  /// A copy of the value.
  [[nodiscard]] T get() const { return core_->value(); }
  /// A receiver, which has seen the present value.
  [[nodiscard]] receiver subscribe() const { return receiver(core_); }
  /// Ends the waits of receivers. They can still get the last value.
  void close() noexcept { core_->close(); }
  /// True after close().
  [[nodiscard]] bool is_closed() const noexcept { return core_->is_closed(); }
};

} // namespace rubato
