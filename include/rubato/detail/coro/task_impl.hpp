// The coroutine behind a task, and the awaitable of `co_await task`. A part of task.hpp.
#pragma once

#include "rubato/detail/coro/coroutine_task.hpp"
#include "rubato/task.hpp"

#include <stdexcept>

namespace rubato {

template<class T>
class task<T>::promise_type final : public detail::task_promise<T> {
public:
  task get_return_object() noexcept { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
};

namespace detail {

/// The awaiter of `co_await task`: the trampoline resumes the awaited task, and the awaiting one when it
/// ends.
template<class T>
class task_awaiter {
  std::coroutine_handle<typename rubato::task<T>::promise_type> frame_;

public:
  explicit task_awaiter(rubato::task<T>& t)
      : frame_(task_access::frame(t)) {
    if (frame_ == nullptr) throw_no_state("rubato: co_await of an empty task");
    if (frame_.promise().continuation() != nullptr)
      throw std::logic_error("rubato: co_await of a task that has been awaited before");
  }
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template<std::derived_from<own_promise> P>
  void await_suspend(std::coroutine_handle<P> h) const noexcept {
    frame_.promise().owned_by(h);
    this_trampoline().next = frame_;
  }
  T await_resume() const { return static_cast<T>(frame_.promise().take()); }
};

} // namespace detail

} // namespace rubato
