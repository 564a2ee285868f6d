// A host that makes the threads of a pool itself: the C interface. docs/c.md
#pragma once

struct rb_thread;

namespace rubato::detail {

struct thread_host {
  /// Makes a thread that calls rb_thread_run(). Returns a negative errno if none can be made. Null: the pool
  /// makes its threads.
  int (*make_thread)(void* arg, rb_thread* thread) = nullptr;
  void* arg = nullptr;
};

} // namespace rubato::detail
