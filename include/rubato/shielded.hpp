// An await that a stop of the awaiting task does not end: to unlock, to answer, to roll back.
//
//   rubato::task<void> transfer(store& s) {
//     co_await s.lock();
//     co_await s.change();                      // may end early, when the task is stopped
//     co_await rubato::shielded(s.unlock());    // does not
//   }
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/detail/as_task.hpp"
#include "rubato/detail/siblings.hpp"
#include "rubato/task.hpp"

#include <exception>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

struct shielded_fn {
  /// co_await shielded(awaitable): what the awaitable yields, or its exception. It runs as a child of the
  /// awaiting task, which waits until it has ended. Neither a stop of the awaiting task nor a drain of the
  /// pool stops it, nor what it waits for; its stop token shows neither: a drain waits for it, however long.
  /// A discard of the pool does both, and begins none any more: then it throws
  /// std::future_error(broken_promise). One allocation, and one for the child.
  template<class A>
  [[nodiscard]] auto operator()(A&& awaitable) const {
    return run(as_task(std::forward<A>(awaitable)));
  }

private:
  template<class T>
  static rubato::task<T> run(rubato::task<T> awaited) {
    stop_scope shield{stop_scope::shield()};
    siblings<1> work(shield, nullptr, std::move(awaited));
    work.group.start_all();
    co_await work.group.rest();
    if (std::exception_ptr const error = work[0].error(); error != nullptr) std::rethrow_exception(error);
    if constexpr (std::is_void_v<T>)
      work[0].template result<T>().take();
    else
      co_return work[0].template result<T>().take();
  }
};

} // namespace detail

inline constexpr detail::shielded_fn shielded{};

} // namespace rubato
