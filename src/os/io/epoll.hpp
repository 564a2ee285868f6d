// Events of descriptors: epoll, the eventfds that wake its waiters, and the timerfd.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/epoll.h>

namespace rubato::os {

/// A set of descriptors and what their owners wait for.
class epoll {
  int fd_ = -1;

public:
  using event = ::epoll_event;

  epoll() noexcept = default;
  epoll(epoll const&) = delete;
  epoll& operator=(epoll const&) = delete;
  ~epoll() = default; // closed by close() only: the library's one set outlives static objects

  /// Throws std::system_error.
  void open();
  /// Only of the calling process: another process that shares the set is not disturbed.
  void close() noexcept;

  // Each returns 0 or the error number.
  [[nodiscard]] int add(int fd, std::uint32_t events, std::uint64_t data) noexcept;
  [[nodiscard]] int modify(int fd, std::uint32_t events, std::uint64_t data) noexcept;
  int remove(int fd) noexcept;

  /// Sleeps until there are events, and returns their number.
  [[nodiscard]] std::size_t wait(std::span<event> events) noexcept;
  /// The number of events that there are now.
  [[nodiscard]] std::size_t poll(std::span<event> events) noexcept;
};

/// Whether a read, or a write, would not wait now, by poll(2). False for a descriptor that epoll cannot wait
/// for, such as a file's, and for none.
[[nodiscard]] bool is_ready_now(int fd, bool to_read) noexcept;

/// A non-blocking eventfd. Throws std::system_error.
[[nodiscard]] int make_event_fd();
/// Safe in a signal handler.
void raise_event_fd(int fd) noexcept;
/// Sets it back to zero.
void lower_event_fd(int fd) noexcept;

/// A descriptor that is readable from a point in time on. Throws std::system_error.
[[nodiscard]] int make_timer_fd();
/// Replaces the point in time that it had.
void set_timer_fd(int fd, std::chrono::steady_clock::time_point due) noexcept;

/// The eventfd that poke() raises; -1: none.
void set_poke(int event_fd) noexcept;
/// Wakes a thread that sleeps in the epoll set which has that eventfd.
void poke() noexcept;

void close_fd(int fd) noexcept;

} // namespace rubato::os
