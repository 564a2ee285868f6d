// The parts of task.hpp: the coroutine behind a task, the awaitable of `co_await task`, and what spawn()
// makes of a callable that returns a task, or of the task itself. docs/design/coroutines.md
#pragma once

#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/future/continuation.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/task.hpp"

#include <coroutine>
#include <cstdint>
#include <exception>
#include <utility>

namespace rubato {

template<class T>
class task<T>::promise_type final : public detail::task_promise<T> {
public:
  task get_return_object() noexcept { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
};

namespace detail {

/// The awaiter of `co_await task`: the task's coroutine begins as a call.
template<class T>
class task_awaiter {
  std::coroutine_handle<typename rubato::task<T>::promise_type> frame_;
  result_slot<T> result_;

public:
  explicit task_awaiter(rubato::task<T>& t)
      : frame_(task_access::unbegun(t)) {
    static_cast<void>(task_access::release(t));
  }
  task_awaiter(task_awaiter const&) = delete;
  task_awaiter& operator=(task_awaiter const&) = delete;
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template<std::derived_from<own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
    frame_.promise().awaited_by(h);
    frame_.promise().goes_to(result_);
    return !call_nested(frame_.address(), h.address());
  }
  T await_resume() { return static_cast<T>(result_.take()); }
};

/// Calls a callable that returns a task.
template<class F>
class task_source {
  until_called<F> f_; // lives until the task ends, which may refer to it

public:
  rubato::task<typename flattened<call_result_t<F>>::type> made;

  template<class... Args>
  explicit task_source(Args&&... args)
      : f_(std::forward<Args>(args)...) {}
  [[nodiscard]] F& callable() noexcept { return f_.get(); }
  void make(thread_context& runner) { made = call_with_token(runner, std::move(f_.get())); }
  void reset() noexcept {
    made = {};
    f_.reset();
  }
};
/// A task, which is a callable that returns itself.
template<class T>
class task_source<rubato::task<T>> {
public:
  rubato::task<T> made;

  explicit task_source(rubato::task<T>&& t) noexcept
      : made(std::move(t)) {}
  static void make(thread_context& /*runner*/) noexcept {}
  void reset() noexcept { made = {}; }
};

/// Makes the outermost coroutine of a source, which begins and puts its result there. Throws what the
/// callable throws, and what unbegun() does of an empty task.
template<class F, class Result>
[[nodiscard]] std::coroutine_handle<> begin_outermost(task_source<F>& source, result_slot<Result>& result,
                                                      thread_context& runner) {
  source.make(runner);
  auto const h = task_access::unbegun(source.made);
  static_cast<void>(task_access::release(source.made));
  h.promise().begins_outermost();
  h.promise().goes_to(result);
  return h;
}

template<class F>
class coroutine_job : public state_of<typename flattened<call_result_t<F>>::type, coroutine_task> {
  using result_type = typename flattened<call_result_t<F>>::type;
  task_source<F> source_;
  result_slot<result_type> result_;

public:
  template<class... Args>
  coroutine_job(std::uint32_t holders, stop_link* around, Args&&... args)
      : state_of<result_type, coroutine_task>(holders, around)
      , source_(std::forward<Args>(args)...) {}

  [[nodiscard]] F& callable() noexcept { return source_.callable(); }

protected:
  [[nodiscard]] std::coroutine_handle<> begin(thread_context& runner) noexcept override {
    try {
      return detail::begin_outermost(source_, result_, runner);
    } catch (...) {
      this->fail(std::current_exception());
      return nullptr;
    }
  }
  void end(bool finished) noexcept override {
    if (finished) this->slot().take_over(result_);
    source_.reset();
  }
};

// Tasks that are children of the calling thread's task: they stop with it, and it waits for them.

/// `around`: the scope that it stops with; null: none.
template<class T>
class child_job final : link_holder, public coroutine_job<rubato::task<T>> {
public:
  child_job(stop_scope* around, rubato::task<T>&& t)
      : link_holder(around)
      , coroutine_job<rubato::task<T>>(2U, &link, std::move(t)) {}
};

/// Runs on any pool; stops with the task of the calling thread.
template<class T>
T run_task_on(pool_core& c, rubato::task<T>&& t) {
  auto* const made = make_in_slab<child_job<T>>(scope_in_force(), std::move(t));
  future<T> out = future_access::make<T>(state_ref(made));
  spawn_state(c, *made);
  return get_to_end(std::move(out));
}

template<class T>
T run_task(thread_context& me, rubato::task<T>&& t) {
  return run_task_on(me.core != nullptr ? *me.core : *some_core(), std::move(t));
}

} // namespace detail

} // namespace rubato

#include "rubato/detail/coro/enqueued_coroutine.hpp" // enqueue() takes tasks too, and this begins them
