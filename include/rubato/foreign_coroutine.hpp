// Lets coroutines of other libraries co_await futures and tasks of Rubato.
//
//   #include <rubato/foreign_coroutine.hpp>
//   #include <cstdio>
//
//   struct job { // stands for a coroutine type of another library
//     struct promise_type {
//       job get_return_object() { return {}; }
//       std::suspend_never initial_suspend() noexcept { return {}; }
//       std::suspend_never final_suspend() noexcept { return {}; }
//       void return_void() {} void unhandled_exception() {}
//     };
//   };
//   job print(rubato::future<int> f) { std::printf("%d\n", co_await std::move(f)); } // -> 42
//
//   int main() {
//     print(rubato::spawn([] { return 42; }));
//     rubato::pool::global().wait_idle();
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/pool/foreign_coroutine_awaiter.hpp"
#include "rubato/future.hpp"
#include "rubato/spawn.hpp"
#include "rubato/task.hpp"

#include <utility>

namespace rubato {

/// co_await of a future in a coroutine of another library. Yields or throws the result. The coroutine resumes
/// on a worker of the pool that made the result, or of the global pool if no pool made it. It must not be
/// destroyed while it waits. Throws std::future_error(no_state) if the future is invalid. Coroutines of
/// Rubato do not use these operators.
template<class T>
[[nodiscard]] detail::foreign_coroutine_awaiter<future<T>> operator co_await(future<T>&& f) {
  return detail::foreign_coroutine_awaiter<future<T>>(std::move(f));
}
/// co_await of a shared_future: as of a future.
template<class T>
[[nodiscard]] detail::foreign_coroutine_awaiter<shared_future<T>> operator co_await(shared_future<T> f) {
  return detail::foreign_coroutine_awaiter<shared_future<T>>(std::move(f));
}
/// co_await of a task: spawns it on the current pool, and awaits its future.
template<class T>
[[nodiscard]] detail::foreign_coroutine_awaiter<future<T>> operator co_await(task<T>&& t) {
  return detail::foreign_coroutine_awaiter<future<T>>(spawn(std::move(t)));
}

} // namespace rubato
