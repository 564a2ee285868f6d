// How the end of a run is told: to the thread that waits for it, or to the coroutine that awaits it.
// docs/design/graphs.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/coro/coroutine_task.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/task.hpp"
#include "rubato/detail/work/thread_context.hpp"

namespace rubato::detail {

class run_awaiter;

/// What is told that a run has ended: one of the two, or neither for a run within another. The thread that
/// tells it has copied this before, because the run may be gone.
struct run_end {
  thread_context* caller = nullptr; ///< waits, and helps meanwhile; its record lives as long as its pool
  run_awaiter* awaiter = nullptr;

  void tell() const noexcept;
};

/// The wait of a coroutine for a run that begins with it.
class RUBATO_API run_awaiter : public wait_operation, task {
  friend struct run_end;
  pool* pool_;
  bool used_ = false;

  static void run_entry(task& base, thread_context* runner) noexcept;
  [[nodiscard]] bool insert() final;
  [[nodiscard]] bool remove() noexcept final { return false; }
  void run_has_ended() noexcept;

protected:
  /// Null: on the pool of the coroutine.
  explicit run_awaiter(pool* p) noexcept
      : wait_operation(ends::with_children)
      , task(&run_entry)
      , pool_(p) {}
  /// Only before it is awaited.
  run_awaiter(run_awaiter const& other) noexcept
      : run_awaiter(other.pool_) {}
  virtual ~run_awaiter() = default; // virtual, because a friend could call it

  /// Makes the run. False: there is nothing to do.
  [[nodiscard]] virtual bool begin(pool_core& core, stop_scope& around) = 0;
  /// The first part of the run, in a task of its pool; null: the pool has dropped the task.
  virtual void work(thread_context* runner) noexcept = 0;
  /// Destroys the run, and throws its failure.
  virtual void finish() = 0;

public:
  void await_resume() {
    retire();
    finish();
  }
};

} // namespace rubato::detail
