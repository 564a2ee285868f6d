// A callable that returns a task, and the task itself: work that may be suspended. A part of
// task.hpp. docs/design/coroutines.md
#pragma once

#include "rubato/detail/activity.hpp"
#include "rubato/detail/job.hpp"
#include "rubato/detail/task_access.hpp"

#include <coroutine>
#include <exception>
#include <utility>

namespace rubato::detail {

/// spawn(task) is spawn of a callable that returns it.
template<class T>
class task_holder {
  rubato::task<T> task_;

public:
  explicit task_holder(rubato::task<T>&& t) noexcept
      : task_(std::move(t)) {}
  rubato::task<T> operator()() noexcept { return std::move(task_); }
};

/// Where a coroutine comes from.
template<class F>
class task_source {
  until_called<F> f_; // lives until the task ends, because that may refer to it

public:
  rubato::task<typename flattened<call_result_t<F>>::type> made;

  template<class... Args>
  explicit task_source(Args&&... args)
      : f_(std::forward<Args>(args)...) {}
  [[nodiscard]] F& callable() noexcept { return f_.get(); }
  void make(member& runner) { made = call_with_token(runner, std::move(f_.get())); }
  void reset() noexcept {
    made = {};
    f_.reset();
  }
};
/// It is there already.
template<class T>
class task_source<task_holder<T>> {
public:
  rubato::task<T> made;

  explicit task_source(rubato::task<T>&& t) noexcept
      : made(std::move(t)) {}
  explicit task_source(task_holder<T>&& h) noexcept
      : made(h()) {}
  static void make(member& /*runner*/) noexcept {}
  void reset() noexcept { made = {}; }
};

template<class F>
class coroutine_job : public state_of<typename flattened<call_result_t<F>>::type, activity> {
  using result_type = typename flattened<call_result_t<F>>::type;
  task_source<F> source_;

public:
  template<class... Args>
  explicit coroutine_job(std::uint32_t holders, Args&&... args)
      : state_of<result_type, activity>(holders)
      , source_(std::forward<Args>(args)...) {}
  template<class... Args>
  explicit coroutine_job(stop_link& around, std::uint32_t holders, Args&&... args)
      : state_of<result_type, activity>(holders, around)
      , source_(std::forward<Args>(args)...) {}

  [[nodiscard]] F& callable() noexcept { return source_.callable(); }
  void dispose() noexcept override { dispose_state(this); }

protected:
  [[nodiscard]] std::coroutine_handle<> begin(member& runner) noexcept override {
    try {
      source_.make(runner);
      return task_access::unbegun(source_.made);
    } catch (...) {
      this->fail(std::current_exception());
      return nullptr;
    }
  }
  void end(bool finished) noexcept override {
    if (finished) this->slot().take_over(task_access::frame(source_.made).promise());
    source_.reset();
  }
};

} // namespace rubato::detail
