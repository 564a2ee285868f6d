// A strand runs its tasks one at a time, in order, on any free worker.
//
//   #include <rubato/strand.hpp>
//
//   #include <cstdio>
//   #include <string>
//
//   int main() {
//     rubato::pool pool(4);
//     std::string log; // needs no lock
//     rubato::strand writer(pool);
//     for (char c : std::string("in order")) writer.enqueue([&log, c] { log += c; });
//     writer.spawn([&log] { std::puts(log.c_str()); }).get(); // -> in order
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/pool/strand_queue.hpp"
#include "rubato/future.hpp"
#include "rubato/thread_pool.hpp"

#include <utility>

namespace rubato {

/// Runs its tasks one at a time, in the order in which they were added, on any worker of a pool. Each task
/// begins when its predecessor has ended: returned, thrown, or been cancelled. A suspended coroutine has not
/// ended.
///
/// A task must not wait for a later task of the same strand, which begins only when the waiting one has
/// ended. With assertions on, get(), wait() and co_await of such a future end the program with a message,
/// in a child of a scope too. Without assertions the wait never ends.
///
/// Thread-safe. Named after the strands of Asio. A strand uses no thread and no lock, and adding a task takes
/// amortised O(1). It may be destroyed at any time, and its tasks still run; the pool must outlive it. It
/// keeps the result of its newest task until the next one is added, unless the result was fetched. If the
/// pool's end destroys a task unfinished, it destroys the tasks behind it too. Afterwards, and in the child
/// after fork(), where the futures of unfinished tasks throw broken_promise, the strand can be used again.
class strand {
  detail::strand_queue tasks_;

public:
  /// The pool must outlive the strand.
  explicit strand(pool& p) noexcept
      : tasks_(p) {}

  /// Adds f(args...), or f(std::stop_token, args...), or a task, and returns the future of its result, as
  /// pool::spawn() does. A task or future that f returns is awaited. If the future is dropped before the task
  /// begins, the task never begins. pool_options::max_queued() does not apply. Throws cancelled if the pool
  /// refuses tasks because it ends or was shut down, std::bad_alloc, and exceptions of copying.
  template<class F, class... Args>
  auto spawn(F&& f, Args&&... args) {
    return tasks_.add(priority::normal, std::forward<F>(f), std::forward<Args>(args)...);
  }
  /// spawn() with a priority. Tasks of the strand that wait before this one get the same priority, if theirs
  /// is lower: the order stays.
  template<class F, class... Args>
  auto spawn(priority p, F&& f, Args&&... args) {
    return tasks_.add(p, std::forward<F>(f), std::forward<Args>(args)...);
  }

  /// Adds a task without a future, as pool::enqueue(): the pool passes an exception to on_unhandled.
  template<class F>
  void enqueue(F&& f) {
    tasks_.add_detached(priority::normal, std::forward<F>(f));
  }
  template<class F>
  void enqueue(priority p, F&& f) {
    tasks_.add_detached(p, std::forward<F>(f));
  }
  /// Does not compile: f takes no arguments here.
  template<class F, class Arg, class... Args>
  void enqueue(F&& /*f*/, Arg&& /*arg*/, Args&&... /*args*/) {
    detail::explain_enqueue<F>();
  }
};

} // namespace rubato
