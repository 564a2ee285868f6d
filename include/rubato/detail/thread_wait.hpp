// A thread waits at one end of a channel. docs/design/races.md
#pragma once

#include "rubato/detail/future_state.hpp"
#include "rubato/detail/race.hpp"

namespace rubato::detail {

/// The race of one operation against a stop of the task that the thread runs. On the thread's stack.
class thread_wait : public race {
  state_ref ended_;         ///< what the thread sleeps for
  bool has_waited_ = false; ///< else no giver ends its hold on that

  static void end(race& r) noexcept;

public:
  /// Throws std::bad_alloc.
  thread_wait();
  thread_wait(thread_wait const&) = delete;
  thread_wait& operator=(thread_wait const&) = delete;
  ~thread_wait();

  /// Once its member is in a list. In a task it leaves the seat. False: the task was stopped, and no giver
  /// takes the member any more.
  [[nodiscard]] bool wait(char const* why) noexcept;
};

/// The place of a thread in a channel's list. End: channel_core's sender or receiver.
template<class End>
class thread_end final : public End {
  // It is no coroutine's.
  [[nodiscard]] bool insert() noexcept override { return false; }
  [[nodiscard]] bool remove() noexcept override { return false; }

public:
  explicit thread_end(thread_wait& w) noexcept { this->enter(w, 0); }
  ~thread_end() = default;
};

} // namespace rubato::detail
