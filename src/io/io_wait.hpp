// A coroutine's wait until a descriptor is ready, or until a deadline. docs/design/reactor.md
#pragma once

#include "io/reactor.hpp"
#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/coro/coroutine_task.hpp"
#include "rubato/detail/timer/timer.hpp"
#include "rubato/task.hpp"
#include "rubato/time.hpp"

#include <chrono>
#include <system_error>
#include <utility>

namespace rubato::detail {

/// co_await: errc{}, the descriptor is ready, or the operation is to be tried again; timed_out;
/// operation_canceled, the task was stopped or the descriptor was closed; device_or_resource_busy; else the
/// kernel's error.
class io_wait final : public wait_operation, timer {
  descriptor_slot& slot_;
  int const fd_;
  direction const direction_;
  bool const is_edge_;
  bool by_event_ = false;
  slot_seen before_; ///< before the operation was tried; for a level, its generation alone counts
  std::errc result_{};
  pool_core* counted_ = nullptr; ///< the pool that counts this wait as armed

  [[nodiscard]] bool claim() noexcept override { return remove(); }
  void fire() noexcept override {
    result_ = std::errc::timed_out;
    count_fired(*counted_);
    end_wait(made_ready_by::event);
  }

  [[nodiscard]] bool insert() noexcept override {
    counted_ = coroutine().home();
    count_armed(*counted_); // until settle(), when the coroutine runs again
    std::errc const e = is_edge_ ? detail::await_edge(slot_, fd_, before_, direction_, *this)
                                 : detail::await_level(slot_, fd_, before_.generation, direction_, *this);
    if (e == std::errc()) {
      // It is listed: from here on any thread may end the wait, and write the result, but it does not end
      // this object's life.
      if (has_alarm()) arm(*this);
      return true;
    }
    if (e != std::errc::resource_unavailable_try_again) result_ = e;
    return false;
  }
  [[nodiscard]] bool has_alarm() const noexcept { return due != never; }
  [[nodiscard]] bool remove() noexcept override { return slot_.remove(direction_, *this); }

  void settle() noexcept {
    retire();
    // Afterwards no firer is in claim(). It may be past fire(), whose last touch was to end the wait.
    if (has_alarm()) static_cast<void>(disarm(*this));
    if (counted_ != nullptr) count_disarmed(*std::exchange(counted_, nullptr));
  }

  io_wait(descriptor_slot& slot, int fd, direction d, bool is_edge, slot_seen before,
          std::chrono::steady_clock::time_point until) noexcept
      : slot_(slot)
      , fd_(fd)
      , direction_(d)
      , is_edge_(is_edge)
      , before_(before) {
    due = until;
    timed = true;
  }

public:
  /// For the level of a descriptor of others, of that generation.
  io_wait(descriptor_slot& slot, int fd, direction d, std::uint32_t generation,
          std::chrono::steady_clock::time_point until) noexcept
      : io_wait(slot, fd, d, false, {generation, 0}, until) {}
  /// For an edge of a descriptor of the library, after an operation that found nothing.
  io_wait(descriptor_slot& slot, int fd, direction d, slot_seen before,
          std::chrono::steady_clock::time_point until) noexcept
      : io_wait(slot, fd, d, true, before, until) {}

  [[nodiscard]] awaited_object awaited() const noexcept override {
    return {.until = has_alarm() ? due : std::chrono::steady_clock::time_point::max(), .descriptor = fd_};
  }
  io_wait(io_wait const&) = delete;
  io_wait& operator=(io_wait const&) = delete;
  ~io_wait() { settle(); }

  /// By the thread that has taken it out of its slot. False: every worker of the pool is busy.
  bool end(std::errc result) noexcept {
    result_ = result;
    by_event_ = true;
    bool const is_served = has_free_worker(*counted_);
    end_wait(made_ready_by::event);
    return is_served;
  }

  [[nodiscard]] std::errc await_resume() noexcept {
    bool const stopped = retire();
    settle();
    if (by_event_) count_io_event();
    return stopped ? std::errc::operation_canceled : result_;
  }
  /// After the wait.
  [[nodiscard]] std::uint32_t generation() const noexcept { return before_.generation; }
  /// After the wait: the task was stopped, or its pool ends.
  using wait_operation::was_stopped;
};

} // namespace rubato::detail
