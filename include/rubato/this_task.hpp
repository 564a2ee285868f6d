// Functions by which a task acts on itself: its stop token, its pool, its place in the queue.
//
//   #include <rubato/spawn.hpp>
//   #include <rubato/this_task.hpp>
//
//   #include <cstdio>
//
//   rubato::task<bool> move_to(rubato::pool& other) {
//     co_await rubato::resume_on(other);
//     co_return rubato::current_pool() == &other && !rubato::this_task_stop_token().stop_requested();
//   }
//
//   int main() {
//     rubato::pool other(1);
//     std::puts(rubato::block_on(move_to(other)) ? "moved" : "stayed"); // -> moved
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/work/pool_port.hpp"

#include <stop_token>

namespace rubato {

namespace detail {

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

/// `co_await yield();` in a task: moves the task behind all other ready tasks of this worker. A stop request
/// does not end it. During a discard of the pool it throws cancelled.
inline constexpr detail::yield_fn yield{};

/// `co_await resume_on(p);` in a task: moves the task to the pool p, where it stays until it is moved again.
/// p must live until the task has left it or ended. Throws cancelled if p was shut down and not restarted, or
/// discards its tasks, and std::system_error if p cannot be started.
inline constexpr detail::resume_on_fn resume_on{};

/// `std::stop_token t = this_task_stop_token();` in any task, coroutine or not: the stop token of the calling
/// code. It shows a stop when the task's future is cancelled or dropped, when the enclosing scope, join or
/// loop stops, and when the pool ends. Outside any pool the token never shows a stop. The first call in a
/// task allocates. Throws std::bad_alloc.
inline constexpr detail::this_task_stop_token_fn this_task_stop_token{};

} // namespace rubato
