// Starts work that returns a result, on the current pool or on another.
//
//   #include <rubato/spawn.hpp>
//
//   #include <cstdio>
//
//   rubato::task<int> answer() { co_return 42; }
//
//   int main() {
//     rubato::future<int> f = rubato::spawn(answer()); // on the current pool, here the global one
//     std::future<int> g = rubato::submit([](int n) { return n + 1; }, f.get());
//     std::printf("%d\n", g.get());                      // -> 43
//     std::printf("%d\n", rubato::block_on(answer())); // -> 42
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/future.hpp"
#include "rubato/task.hpp"
#include "rubato/thread_pool.hpp"

#include <utility>

namespace rubato {

namespace detail {

struct spawn_fn : pool_forms<spawn_fn> {
  /// pool::spawn on the current pool: the caller's own, else the global one.
  template<class F, class... Args>
  static auto on(pool* p, F&& f, Args&&... args) {
    return pool_or_current(p).spawn(std::forward<F>(f), std::forward<Args>(args)...);
  }
};

struct submit_fn : pool_forms<submit_fn> {
  /// pool::submit on the current pool.
  template<class F, class... Args>
  static auto on(pool* p, F&& f, Args&&... args) {
    return pool_or_current(p).submit(std::forward<F>(f), std::forward<Args>(args)...);
  }
};

struct block_on_fn : pool_forms<block_on_fn> {
  /// pool::block_on on the current pool: runs a task, or waits for a future or any other awaitable, and
  /// returns its result. A task begins on the calling thread.
  template<class A>
  static decltype(auto) on(pool* p, A&& awaitable) {
    return pool_or_current(p).block_on(std::forward<A>(awaitable));
  }
};

} // namespace detail

inline constexpr detail::spawn_fn spawn{};
inline constexpr detail::submit_fn submit{};
inline constexpr detail::block_on_fn block_on{};

} // namespace rubato
