// What a new thread inherits from the thread that makes it.
#pragma once

#include <csignal>
#include <sched.h>

namespace rubato::os {

/// The signal mask, the scheduling class and the nice value that the threads made by one thread inherit.
class scheduling {
  sigset_t blocked_{};
  int policy_;
  sched_param priority_{}; // of a real-time class
  int nice_;

public:
  [[nodiscard]] static scheduling of_this_thread() noexcept { return scheduling(); }
  /// Gives them to the calling thread. Where the kernel refuses, class or nice value remain as they are:
  /// without privileges a nice value can only grow.
  void apply() const noexcept;

private:
  scheduling() noexcept;
};

/// SCHED_OTHER for the calling thread. Refused to one of SCHED_IDLE without privileges: then nothing changes.
void schedule_ordinarily() noexcept;

} // namespace rubato::os
