// A coroutine that runs on a pool.
//
//   #include <rubato/spawn.hpp>
//   #include <rubato/task.hpp>
//
//   #include <cstdio>
//
//   rubato::task<int> half(int n) { co_return n / 2; }
//   rubato::task<int> quarter(int n) {
//     int const h = co_await half(n); // begins here, as a part of this task
//     co_return co_await half(h);
//   }
//
//   int main() {
//     std::printf("%d\n", rubato::block_on(quarter(84))); // -> 21
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/coro/coroutine.hpp"

#include <coroutine>

namespace rubato {

/// A lazy coroutine: it begins when it is awaited or spawned. It always resumes on the pool where it was
/// started, or to which it was last moved with resume_on(). A stop request to it also reaches the operations
/// that it awaits.
///
/// **A lambda that is a coroutine must outlive its task**: its captures stay in the closure and are not
/// copied to the coroutine. A temporary closure is destroyed before the task begins:
///
///     task<int> t = [n]() -> task<int> { co_return n; }();    // wrong: reads n of a closure that is gone
///     task<int> t = [](int n) -> task<int> { co_return n; }(n);      // right: arguments are copied
///     future<int> f = spawn([n]() -> task<int> { co_return n; });    // right: spawn keeps the closure
///
/// enqueue(), submit(), then(), run(), a scope's spawn() and with_async_scope() keep the closure too: pass
/// them the closure, not the task that it returns. Objects that are passed to a coroutine by reference must
/// outlive it too.
///
/// **A coroutine must not return a view of its parameters.** They are destroyed when it ends, before its
/// awaiter goes on, as those of a function are:
///
///     task<std::string_view> name(std::string s) { co_return s; } // wrong: s is gone when the awaiter reads
///
/// An awaited task is a part of its awaiter. If it moves to another pool with resume_on(), its awaiter
/// continues there too.
///
/// In a task, `co_await x` accepts
///   - a `task<U>`, as an lvalue or rvalue, once: yields its U. The task begins with the co_await, which
///     takes its coroutine: valid() is false afterwards;
///   - a `future<U>`: yields its U. An lvalue is consumed too, as by get();
///   - a `shared_future<U>`: yields a `U const&` to the stored result;
///   - the results of Rubato's awaitable functions, in the expression that calls the function: yield(),
///     resume_on(pool), sleep_for(d), interval::tick(), with_deadline(x, t), shielded(x), select(),
///     when_all() and when_any() of tasks and awaitables, with_async_scope(), scope::join(), channel::send()
///     and receive(), async_generator::next(), and those of async_mutex, async_semaphore, async_latch,
///     async_barrier and event. Each function documents what it yields;
///   - any type of another library with `operator co_await`, or with `await_ready`, `await_suspend` and
///     `await_resume`. Whichever thread that library resumes it on, the task continues on its own pool.
///
/// g++ 12 miscompiles `if (co_await x)`, `while (co_await x)`, and `co_await f([s] {...})` if the capture has
/// a destructor: name the result, or the lambda, first. docs/gcc12-coroutines.md lists such forms and tells
/// how a build finds them.
///
/// A wait of Rubato's that is ready at once does not suspend the task. But a task looks at the clock at every
/// 64th such wait: 20 us after the first look, and after 1,024 waits at the latest, it lets other ready tasks
/// run first, as yield() does. A read, a select() or a when_any() may do so before it knows whether it is
/// ready. To await a task is a call, and no wait.
///
/// If the task is asked to stop, its waits end early: with a value that says so if the result has one
/// (optional, bool), otherwise by cancelled. A wait of another library ends only by itself.
///
/// A body that flows off its end owes its result, unless T is void: the program ends with a message.
///
/// Movable; awaited or spawned once. One thread at a time may use a task object. A task that has not begun
/// costs only its frame; dropping the task destroys the frame. Awaiting a task allocates only that frame,
/// from a per-thread cache. It is a call: coroutines that await each other use at most 16 KiB of stack,
/// however deep they are nested. Thread-local variables and current_worker() may change at each co_await, so
/// a std::mutex must not be held across it.
template<class T = void>
class [[nodiscard("a task begins only when it is awaited or spawned")]] task {
  template<class F>
  friend class detail::coroutine_job;
  friend struct detail::task_access;

public:
  class promise_type;
  /// T.
  using value_type = T;

private:
  detail::frame_owner<promise_type> frame_;
  explicit task(std::coroutine_handle<promise_type> h) noexcept
      : frame_(h) {}

public:
  /// Empty, as after a move or a co_await: it can only be assigned to and destroyed.
  task() noexcept = default;
  /// True if it holds a coroutine, which has not begun.
  [[nodiscard]] bool valid() const noexcept { return frame_.get() != nullptr; }
  /// Returns the task itself. So functions that take a callable, such as spawn() and enqueue(), take a task.
  [[nodiscard]] task operator()() && noexcept { return std::move(*this); }
  /// Does not compile: a task has no result before it is awaited or spawned.
  template<class U = T>
  detail::refused get() const {
    static_assert(detail::always_false<U>, "rubato: a task has not begun, so there is nothing to get(): "
                                           "co_await it, or spawn(std::move(t)).get(), or block_on(t)");
    return {};
  }
};

} // namespace rubato

#include "rubato/detail/coro/task_impl.hpp"
#include "rubato/this_task.hpp" // IWYU pragma: export
