// The awaitable that when_all() of tasks returns. docs/design/coroutines.md
#pragma once

#include "rubato/detail/coro/as_task.hpp"
#include "rubato/detail/coro/fork_group.hpp"
#include "rubato/task.hpp"

#include <concepts>
#include <coroutine>
#include <utility>

namespace rubato::detail {

/// Tasks in a tuple or a vector, forked in the frame of the coroutine that awaits them. Movable.
template<class Tasks>
class [[nodiscard("when_all() of tasks begins only when it is awaited")]] all_tasks
    : public awaited_in_place {
  using result = typename fork_group_of<Tasks>::values_type;
  Tasks tasks_;

public:
  class [[nodiscard]] awaiter_type {
    nested_scope limit_;
    fork_group_of<Tasks> all_;

  public:
    awaiter_type(coroutine_task& of, Tasks&& tasks)
        : limit_(of.scope())
        , all_(of, limit_, std::move(tasks)) {}
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template<std::derived_from<own_promise> P>
    void await_suspend(std::coroutine_handle<P> h) noexcept {
      all_.group.begin(h);
    }
    result await_resume() {
      all_.group.finish();
      return all_.values();
    }
  };

  explicit all_tasks(Tasks&& tasks) noexcept
      : tasks_(std::move(tasks)) {}
  /// Called by co_await in a coroutine of Rubato.
  [[nodiscard]] awaiter_type awaiter() { return awaiter_type(*this_trampoline().running, std::move(tasks_)); }
  /// Converts to a task, which can also be spawned.
  operator rubato::task<result>() && { return as_task(std::move(*this)); }
  [[nodiscard]] rubato::task<result> operator()() && { return as_task(std::move(*this)); }
};

} // namespace rubato::detail
