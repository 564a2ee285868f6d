// What a run of a graph and a run of a pipeline have in common: the scope with which their parts stop, the
// first failure, and the floating-point modes. docs/design/graphs.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/fp_modes.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/base/stop_scope.hpp"
#include "rubato/detail/work/pool_port.hpp"

#include <exception>

namespace rubato::detail {

class run_root {
  pool_core* core_;
  fp_modes const modes_ = fp_modes::of_this_thread();
  fork_scope stop_;
  relaxed<bool> ended_early_;
  mutex mutex_;
  std::exception_ptr error_ RUBATO_GUARDED_BY(mutex_);

protected:
  /// `around`: the stop scope that it is within; null: nothing stops it but its pool.
  run_root(pool_core& core, stop_scope* around) noexcept
      : core_(&core)
      , stop_(around) {}
  ~run_root() = default;

public:
  run_root(run_root const&) = delete;
  run_root& operator=(run_root const&) = delete;

  [[nodiscard]] pool_core& core() const noexcept { return *core_; }
  /// Those of the thread that has begun the run. All of its parts have them, up to their first suspension.
  [[nodiscard]] fp_modes const& modes() const noexcept { return modes_; }
  [[nodiscard]] stop_scope& stop() noexcept { return stop_.own; }
  /// True if no further part may begin: after a failure, a stop, or a discard of the pool.
  [[nodiscard]] bool stopped() const noexcept;
  /// The same for a part that has begun and has several steps.
  [[nodiscard]] bool ended_early() const noexcept { return ended_early_.get(); }
  /// Parts will never begin.
  void cut_short() noexcept { ended_early_.set(true); }
  /// For the thread that runs a part, outside its handler, because stop callbacks run here. `cancelled` is no
  /// failure of its own: the run ends with it, unless a part fails.
  void fail(std::exception_ptr e) noexcept;
  /// After its end: the first failure, else cancelled if it was cut short, else null.
  [[nodiscard]] RUBATO_API std::exception_ptr take_error() noexcept;
};

} // namespace rubato::detail
