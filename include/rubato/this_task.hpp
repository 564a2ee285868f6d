// What a task says of itself: where it goes on, and whether it is to stop.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/detail/activity.hpp"
#include "rubato/detail/coroutine.hpp"
#include "rubato/detail/pool_access.hpp"

#include <concepts>
#include <coroutine>
#include <stop_token>

namespace rubato {

namespace detail {

/// To the back of a queue.
struct [[nodiscard(
    "yield() and resume_on() do nothing unless they are awaited: co_await them")]] requeue_awaiter
    : own_awaitable {
  pool_core* to; ///< null: the pool where it is
  explicit requeue_awaiter(pool_core* c) noexcept
      : to(c) {}
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template<std::derived_from<own_promise> P>
  void await_suspend(std::coroutine_handle<P> h) const {
    this_trampoline().running->requeue(h, P::template is_found_in<P>, to);
  }
  void await_resume() const noexcept {}
};

struct yield_fn {
  requeue_awaiter operator()() const noexcept { return requeue_awaiter(nullptr); }
};
struct resume_on_fn {
  requeue_awaiter operator()(pool& p) const { return requeue_awaiter(core_of(p)); }
};
struct this_task_stop_token_fn {
  [[nodiscard]] std::stop_token operator()() const { return current_token(*current); }
};

} // namespace detail

/// `co_await yield();` in a task: everything that is ready on this worker runs first. A stop does not end it,
/// but for a discard of the pool: then it throws cancelled.
inline constexpr detail::yield_fn yield{};

/// `co_await resume_on(p);` in a task: it goes on in the pool p, and stays there until it is moved again,
/// whichever thread completes what it awaits. p must live until the task has left it or ended. Throws
/// cancelled if p was shut down and not started again, or discards its tasks; std::system_error if p cannot
/// be started.
inline constexpr detail::resume_on_fn resume_on{};

/// `std::stop_token t = this_task_stop_token();` in any task, coroutine or not: the token in force for the
/// code that calls it. Stop is requested of it when the future is cancelled or dropped, by the scope, join or
/// loop around, and when the pool ends. Outside any pool no stop is possible. The first call in a task
/// allocates it.
inline constexpr detail::this_task_stop_token_fn this_task_stop_token{};

} // namespace rubato
