#include "rubato/detail/graph/run_root.hpp"

#include "rubato/detail/work/future_state.hpp"
#include "sched/core/life_state.hpp"

#include <utility>

namespace rubato::detail {

bool run_root::stopped() const noexcept {
  return ended_early_.get() || stop_.own.stop_requested() || life_of(*core_).is_discarding();
}

void run_root::fail(std::exception_ptr e) noexcept {
  ended_early_.set(true);
  if (!is_cancelled(e)) {
    lock_guard const guard(mutex_);
    if (error_ == nullptr) error_ = std::move(e);
  }
  stop_.own.request_stop();
}

std::exception_ptr run_root::take_error() noexcept {
  if (!ended_early_.get()) return nullptr;
  lock_guard const guard(mutex_);
  return error_ != nullptr ? std::exchange(error_, nullptr) : cancelled_error();
}

} // namespace rubato::detail
