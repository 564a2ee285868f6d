// How the tasks of the other schedulers wait: in their thread, or until their updater looks at them again.
#pragma once

#include "task.hpp"

#include <chrono>
#include <coroutine>
#include <poll.h>
#include <system_error>
#include <vector>

namespace savegame::baseline {

using time_point = std::chrono::steady_clock::time_point;

/// A wait for a descriptor, or for time only if the descriptor is -1.
class wait {
  pollfd what_;
  time_point deadline_;
  std::errc result_{};

public:
  std::coroutine_handle<> task; ///< of an updater

  wait(int fd, short events, time_point deadline) noexcept
      : what_{fd, events, 0}
      , deadline_(deadline) {}
  /// Looks whether it is over, and waits for that at most as long.
  bool is_over(std::chrono::milliseconds at_most);
  bool await_ready(); ///< without an updater it blocks the thread, and is true
  void await_suspend(std::coroutine_handle<> h);
  std::errc await_resume() const noexcept { return result_; }
};

/// The tasks of one thread. Once in a period it looks at each, and has it go on as far as it can.
class updater {
  std::vector<wait*> tasks_;

public:
  /// Of the calling thread; null: a thread per request.
  static thread_local updater* mine;

  void add(wait& w) { tasks_.push_back(&w); }
  void update();
};

} // namespace savegame::baseline
