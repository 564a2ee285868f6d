// The awaitable of yield() and resume_on().
#pragma once

#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/coro/coroutine_task.hpp"

#include <concepts>
#include <coroutine>

namespace rubato::detail {

/// Moves the task to the back of a queue.
struct [[nodiscard(
    "yield() and resume_on() do nothing unless they are awaited: co_await them")]] requeue_awaiter
    : own_awaitable {
  pool_core* to; ///< null: the task's present pool
  explicit requeue_awaiter(pool_core* c) noexcept
      : to(c) {}
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template<std::derived_from<own_promise> P>
  void await_suspend(std::coroutine_handle<P> h) const {
    this_trampoline().running->requeue(h, P::template is_found_in<P>, to);
  }
  void await_resume() const noexcept {}
};

} // namespace rubato::detail
