// A coroutine that runs on a pool.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/detail/activity.hpp"
#include "rubato/detail/coroutine.hpp"
#include "rubato/detail/result.hpp"
#include "rubato/detail/task_access.hpp"

#include <concepts>
#include <coroutine>
#include <exception>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace rubato {

/// A lazy coroutine: it begins when it is awaited, or spawned, and then resumes on the pool where it was
/// started or last moved to with resume_on(), whoever completes what it awaits. What it awaits with co_await
/// is one of its own: a stop request reaches it too.
///
/// **A lambda that is a coroutine must outlive its task**: what it captures stays in the closure, and is not
/// copied to the coroutine. A temporary one is gone before the task begins:
///
///     task<int> t = [n]() -> task<int> { co_return n; }();    // wrong: reads n of a closure that is gone
///     task<int> t = [](int n) -> task<int> { co_return n; }(n);      // right: arguments are copied
///     future<int> f = spawn([n]() -> task<int> { co_return n; });    // right: spawn keeps the closure
///
/// So do enqueue(), submit(), then(), run(), a scope's spawn() and with_async_scope(): pass them the closure,
/// and not what it returns. Arguments by reference are not copied either.
///
/// A task that is awaited is a part of who awaits it: if it moves with resume_on(), both have moved.
///
/// In it `co_await x` takes, and yields:
///   - a task<U>, by rvalue or as it stands, once: its U. It begins there;
///   - a future<U>: its U. An lvalue is consumed as well, as by get();
///   - a shared_future<U>: a U const&, where it is;
///   - what functions of Rubato's return to be awaited: yield(), resume_on(pool), sleep_for(d),
///     sleep_until(t), interval::tick(), with_deadline(x, t), when_all(...) and when_any(...) of tasks and
///     awaitables, scope::join(), channel::send() and receive(), async_generator::next(), and those of
///     async_mutex, async_semaphore, async_latch and async_barrier: in the same expression. Each says what;
///   - anything with operator co_await, or await_ready(), await_suspend() and await_resume(), of another
///     library: what that yields. Wherever that resumes it, the task goes on on its own pool.
/// A wait of a task that is asked to stop ends early: by the value that says so, where the result has one
/// (optional, bool), else it throws cancelled. A foreign one ends when it ends.
///
/// Movable; awaited or spawned once. One that has not begun costs its frame, from the slabs of the threads;
/// dropping it destroys the frame. Awaiting a task costs no allocation but its frame and grows no stack. In a
/// coroutine, thread-local variables and current_worker() may change at each co_await; no lock may be held
/// across it.
template<class T = void>
class [[nodiscard("a task begins only when it is awaited or spawned")]] task {
  template<class F>
  friend class detail::coroutine_job;
  friend struct detail::task_access;

public:
  class promise_type;
  using value_type = T;

private:
  std::coroutine_handle<promise_type> frame_;
  explicit task(std::coroutine_handle<promise_type> h) noexcept
      : frame_(h) {}

public:
  /// Empty: it can only be assigned to.
  task() noexcept = default;
  task(task&& other) noexcept
      : frame_(std::exchange(other.frame_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    if (this != &other) {
      reset();
      frame_ = std::exchange(other.frame_, nullptr);
    }
    return *this;
  }
  task(task const&) = delete;
  task& operator=(task const&) = delete;
  ~task() { reset(); }

  /// Is there a coroutine?
  [[nodiscard]] bool valid() const noexcept { return frame_ != nullptr; }

private:
  void reset() noexcept {
    if (frame_ != nullptr) detail::tombstone::destroy_frame(std::exchange(frame_, nullptr));
  }
};

template<class T>
class task<T>::promise_type final : public detail::task_promise<T> {
public:
  task get_return_object() noexcept { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
};

namespace detail {

/// What `co_await task` does: the awaiting coroutine's loop goes on with the task, and with the awaiting one
/// when it ends.
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

#include "rubato/detail/awaiters.hpp"
#include "rubato/detail/child_job.hpp"
#include "rubato/detail/coroutine_job.hpp"
#include "rubato/this_task.hpp" // IWYU pragma: export
