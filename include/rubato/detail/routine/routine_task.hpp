// What a post and a run of a routine use, side by side: a run without a deadline reads nothing else of it.
#pragma once

#include "rubato/detail/routine/routine_callback.hpp"
#include "rubato/detail/routine/routine_state.hpp"
#include "rubato/detail/sched/task.hpp"

#include <utility>

namespace rubato::detail {

class pool_core;

struct routine_task : task {
  bool has_deadline_ = false; ///< of the next post
  routine_state state_;
  pool_core* core_ = nullptr; ///< where it is posted
  routine_callback callback_;

protected:
  routine_task(exec_type e, routine_callback&& f) noexcept
      : task(e)
      , callback_(std::move(f)) {
    holds_capacity = false;
  }
  ~routine_task() = default;
};

static_assert(sizeof(routine_task) <= 64, "one cache line, if it is aligned to one");

} // namespace rubato::detail
