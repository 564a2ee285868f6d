// A thread's wait at one end of a channel. docs/design/races.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/sync/race.hpp"
#include "rubato/detail/work/future_state.hpp"

namespace rubato::detail {

/// The race of one operation against a stop of the task that the thread runs. On the thread's stack.
class thread_wait : public race {
  state_ref ended_;         ///< the state that the thread waits for
  bool has_waited_ = false; ///< false: no other thread releases the state's second reference

  static void end(race& r, bool by_event) noexcept;

public:
  /// Throws std::bad_alloc.
  RUBATO_API thread_wait();
  RUBATO_API ~thread_wait();

  /// Called once its node is in a list. In a task it leaves the seat. False: the task was stopped, and no
  /// other thread will take the node.
  [[nodiscard]] RUBATO_API bool wait(char const* why) noexcept;
};

/// A thread's node in a channel's list. End: channel_core's sender or receiver.
template<class End>
class thread_end final : public End {
  // No coroutine awaits it.
  [[nodiscard]] bool insert() noexcept override { return false; }
  [[nodiscard]] bool remove() noexcept override { return false; }

public:
  explicit thread_end(thread_wait& w) noexcept { this->enter(w, 0); }
  ~thread_end() = default;
};

} // namespace rubato::detail
