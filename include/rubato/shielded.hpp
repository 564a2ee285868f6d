// Hides a stop of the awaiting task from one await, for clean-up and last messages.
//
//   #include <rubato/shielded.hpp>
//   #include <rubato/spawn.hpp>
//
//   #include <cstdio>
//
//   rubato::task<void> say_goodbye() {
//     std::puts("goodbye"); // -> goodbye
//     co_return;            // a last message may wait for the network here
//   }
//   rubato::task<void> session() {
//     co_await rubato::shielded(say_goodbye()); // runs even if a stop was requested
//   }
//
//   int main() {
//     rubato::block_on(session());
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/coro/as_task.hpp"
#include "rubato/detail/coro/queued_group.hpp"

#include <utility>

namespace rubato {

namespace detail {

struct shielded_fn {
  /// co_await shielded(awaitable): yields the awaitable's result, or throws its exception. The awaitable runs
  /// as a child of the awaiting task, which waits until the child has ended. Neither a stop of the awaiting
  /// task nor a drain of the pool stops the child or ends its waits, and the child's stop token shows
  /// neither. A drain waits for the child, however long. A discard of the pool stops the child. A shielded()
  /// that begins during or after a discard throws cancelled, and its awaitable does not begin. Two
  /// allocations.
  template<class A>
  [[nodiscard]] auto operator()(A&& awaitable) const {
    return run_shielded(as_task(std::forward<A>(awaitable)));
  }
};

} // namespace detail

inline constexpr detail::shielded_fn shielded{};

} // namespace rubato
