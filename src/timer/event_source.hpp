// Where the kernel's events arrive, as the workers see it. The reactor (src/io/reactor.cpp), which is in a
// higher layer, installs itself at its first use. docs/design/reactor.md
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "sync/parker.hpp"

#include <chrono>

namespace rubato::detail {

/// Delivering events runs no user code: it queues the coroutines that waited for them.
class event_source {
public:
  /// For an idle thread: sleeps until there are events, which it delivers, or until it is unparked. False:
  /// another thread sleeps there already.
  [[nodiscard]] virtual bool sleep(parker& own) noexcept = 0;
  /// For a thread that runs: delivers the events that are there.
  virtual void look() noexcept = 0;
  /// At that time a thread calls fire_timers(). Replaces the time that was set before.
  virtual void set_alarm(std::chrono::steady_clock::time_point due) noexcept = 0;

protected:
  event_source() noexcept = default;
  ~event_source() = default;
};

/// Null: nothing in this process waits for events.
inline constinit announced<event_source*> installed_events;

/// Installs the reactor, unless the system has no descriptor or no thread for it. In src/io/reactor.cpp.
void try_to_start_events() noexcept;

/// For a worker without work, and now and then between tasks. One load in a program without a reactor.
inline void look_for_events() noexcept {
  if (event_source* const e = installed_events.get()) e->look();
}

} // namespace rubato::detail
