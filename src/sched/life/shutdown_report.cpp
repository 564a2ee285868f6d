#include "sched/life/shutdown_report.hpp"

#include "os/clock.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "sched/core/life_state.hpp"
#include "sched/core/thread_registry.hpp"
#include "work/owned_tasks.hpp"
#include "work/task_queues.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>

namespace rubato::detail {

namespace {

constexpr std::chrono::seconds patience{1};

std::string seconds(std::int64_t us) {
  std::int64_t const tenths = us / 100'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

std::string line_of(pool_thread& t, os::ticks now) {
  std::string line = "  thread " + std::to_string(t.index);
  char const* const why = t.waits_in.get();
  if (why == nullptr) return line + " runs a task\n";
  line += std::string(" waits in ") + why;
  if (thread_context const* const runner = t.waits_for.get())
    line += " for thread " + std::to_string(runner->index);
  return line + ", for " + seconds((now - t.waits_since.get()) / ticks_per_us()) + '\n';
}

} // namespace

std::chrono::steady_clock::time_point shutdown_report::due() const noexcept {
  return printed_ ? std::chrono::steady_clock::time_point::max() : began_ + patience;
}

void shutdown_report::print() noexcept {
  printed_ = true;
  try {
    auto const us =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began_);
    std::string text =
        "rubato: pool '" + name_ + "' has been ending for " + seconds(us.count()) + ". It waits for\n";
    os::ticks const now = os::now();
    threads_of(core_).records.for_each([&](pool_thread& t) {
      if (pool_thread::is_in_task(t.boundaries.get())) text += line_of(t, now);
    });
    if (std::size_t const n = queues_of(core_).size(); n != 0)
      text += "  " + std::to_string(n) + " queued task(s)\n";
    if (std::size_t const n = owned_tasks_of(core_).count(); n != 0)
      text += "  " + std::to_string(n) +
              " coroutine(s) or continuation(s) that are suspended; what they await must resume them\n";
    if (life_of(core_).is_discarding())
      text += "a discard has asked all tasks to stop, and waits for those that run\n";
    else if (discard_at_ != std::chrono::steady_clock::time_point::max())
      text += "when its grace is over it begins to discard, which ends the waits of tasks\n";
    else
      text += "shutdown(drain, grace) or request_shutdown(discard) ends the waits of tasks\n";
    static_cast<void>(std::fputs(text.c_str(), stderr));
  } catch (std::bad_alloc const&) {
    static_cast<void>(std::fputs("rubato: a pool has been ending for a second\n", stderr));
  }
}

} // namespace rubato::detail
