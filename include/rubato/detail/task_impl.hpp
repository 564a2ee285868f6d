// What a coroutine may await of the library itself. A part of task.hpp.
#pragma once

#include "rubato/detail/awaiters.hpp"
#include "rubato/detail/pool_access.hpp"

#include <concepts>
#include <coroutine>
#include <stop_token>

namespace rubato {

namespace detail {

/// Anything that can be awaited, as a task. What was passed outlives it.
template<class A>
struct awaiting {
  using result = decltype(make_awaiter(std::declval<A>()).await_resume());
  static rubato::task<result> make(A&& a) { co_return co_await static_cast<A&&>(a); }
};

/// To the back of a queue.
struct requeue_awaiter : own_awaitable {
  pool_core* to; ///< null: the pool where it is
  explicit requeue_awaiter(pool_core* c) noexcept
      : to(c) {}
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template<std::derived_from<own_promise> P>
  void await_suspend(std::coroutine_handle<P> h) const noexcept {
    this_trampoline().running->requeue(h, P::template is_found_in<P>, to);
  }
  void await_resume() const noexcept {}
};

struct yield_fn {
  /// co_await yield(): everything that is ready on this worker runs first.
  [[nodiscard]] requeue_awaiter operator()() const noexcept { return requeue_awaiter(nullptr); }
};

struct resume_on_fn {
  /// co_await resume_on(pool): goes on there, and stays there, until moved again. The pool must live until
  /// the coroutine has left it.
  [[nodiscard]] requeue_awaiter operator()(pool& p) const { return requeue_awaiter(core_of(p)); }
};

struct this_task_stop_token_fn {
  /// The token in force for the code that calls it: its task's, its scope's, its pool's. Never stopped
  /// outside any pool.
  [[nodiscard]] std::stop_token operator()() const { return current_token(*current); }
};

} // namespace detail

inline constexpr detail::yield_fn yield{};
inline constexpr detail::resume_on_fn resume_on{};
inline constexpr detail::this_task_stop_token_fn this_task_stop_token{};

} // namespace rubato
