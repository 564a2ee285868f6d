// The calls that an executor of Python has queued, and the tasks of a pool that run them.
#pragma once

#include <nanobind/nanobind.h>

#include <rubato/pool.hpp>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rubato::python {

namespace nb = nanobind;

/// One call, as the executor's submit() was given it.
struct queued_call {
  nb::object future, function, arguments, keywords;
};

/// A queue of calls, and at most limit() runners: tasks of the pool, each of which runs one call after the
/// other. So no more calls run at once than an executor of that many threads would run, however many threads
/// the pool has. All members are called with the interpreter's lock held.
///
/// The object lives until no runner and no thread of a pool of its own is left: its owner does not destroy
/// it, but calls abandon().
class call_queue {
  friend class runner;

  std::unique_ptr<pool> own_; // null: the global pool
  pool* pool_ = nullptr;
  unsigned limit_ = 0;
  nb::object on_start_, on_exit_;

  // Guards what follows. A thread takes it with the interpreter's lock held, and calls no Python while it has
  // it, so only an interpreter without that lock ever waits here; and no fork() finds it locked.
  std::mutex mutex_;
  std::deque<queued_call> calls_;
  std::vector<nb::object> idle_callbacks_;
  unsigned runners_ = 0; // as long as a call is queued, there is one
  unsigned started_ = 0; // threads of own_ that have not called on_exit_
  // Both are counted down without the interpreter's lock:
  std::atomic<unsigned> threads_{0}; // threads of own_ that may yet call Python
  std::atomic<unsigned> inside_{0};  // runners, until they have given the lock back
  bool closed_ = false, broken_ = false, abandoned_ = false;

  call_queue();
  ~call_queue();

public:
  call_queue(call_queue const&) = delete;
  call_queue& operator=(call_queue const&) = delete;

  /// Makes a pool of its own. Each of its threads calls on_start(number) before its first task. If the
  /// result is false, the queue is broken. It calls on_exit(number) after its last task. Deletes the
  /// abandoned queues that have ended. Throws as the constructor of the pool does.
  static call_queue& make(unsigned workers, std::string name, nb::object on_start, nb::object on_exit);
  /// The one queue of the global pool.
  static call_queue& global();

  /// Gives the call to a new runner, or queues it if there are limit() runners. Throws nb::python_error if
  /// the queue is closed or broken, or the interpreter ends.
  void submit(queued_call next);
  /// Refuses calls from now on. When no call is left, the queue's own pool begins to end.
  void close();
  /// Cancels the futures of all queued calls. Those that were given to a runner are not.
  void cancel_queued();
  /// Calls f as soon as no call is queued or runs, at once if that is so now.
  void when_idle(nb::object f);
  /// Runs what is queued. Ends a pool of its own and waits for its threads; waits for the runners in the
  /// global pool to return. Meanwhile it gives the interpreter's lock back. To be called when the queue is
  /// closed.
  void join();
  /// close(), and deletes the queue as soon as it has ended.
  void abandon();

  /// The most calls that run at once.
  unsigned limit() const noexcept { return limit_; }
  bool is_broken();
  /// Whether the calling thread runs a task of the pool.
  bool is_running_here() const noexcept { return current_pool() == pool_; }
  pool& home() const noexcept { return *pool_; }

  /// Closes every queue, and lets no further one be made. Calls f once for each that is not idle, when it is,
  /// and returns their number.
  static unsigned close_all(nb::object const& f);
  /// Cancels what is queued in any queue.
  static void cancel_all();
  /// join() for all queues.
  static void join_all();
  /// In the child after a fork: nothing is queued, and no thread is left of the parent's.
  static void reset_all_in_child();

private:
  std::vector<queued_call> take_all();
  std::optional<queued_call> take();
  void start_runner(queued_call first);
  void run(std::optional<queued_call> next);
  bool give_way();
  void lose_runner(std::optional<queued_call> const& first);
  void break_now();
  void tell_idle();
  void begin_thread(unsigned number);
  void end_thread(unsigned number);
  static void sweep();
};

} // namespace rubato::python
