// Starting work whose result is wanted, on the current pool or on another.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/future.hpp"
#include "rubato/task.hpp"
#include "rubato/thread_pool.hpp"

#include <concepts>
#include <future>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

struct spawn_fn {
  /// pool::spawn on the current pool: the caller's own, else the global one.
  template<class F, class... Args>
    requires(!std::derived_from<std::remove_cvref_t<F>, pool>)
  auto operator()(F&& f, Args&&... args) const {
    return pool_or_current(nullptr).spawn(std::forward<F>(f), std::forward<Args>(args)...);
  }
  template<class F, class... Args>
  auto operator()(pool& p, F&& f, Args&&... args) const {
    return p.spawn(std::forward<F>(f), std::forward<Args>(args)...);
  }
};

struct submit_fn {
  /// pool::submit on the current pool.
  template<class F, class... Args>
    requires(!std::derived_from<std::remove_cvref_t<F>, pool>)
  auto operator()(F&& f, Args&&... args) const {
    return pool_or_current(nullptr).submit(std::forward<F>(f), std::forward<Args>(args)...);
  }
  template<class F, class... Args>
  auto operator()(pool& p, F&& f, Args&&... args) const {
    return p.submit(std::forward<F>(f), std::forward<Args>(args)...);
  }
};

struct block_on_fn {
  /// Runs a task, or waits for a future or anything else that can be awaited, on the current pool, and
  /// returns its result. A task begins on the calling thread.
  template<class A>
    requires(!std::derived_from<std::remove_cvref_t<A>, pool>)
  decltype(auto) operator()(A&& awaitable) const {
    return pool_or_current(nullptr).block_on(std::forward<A>(awaitable));
  }
  template<class A>
  decltype(auto) operator()(pool& p, A&& awaitable) const {
    return p.block_on(std::forward<A>(awaitable));
  }
};

} // namespace detail

inline constexpr detail::spawn_fn spawn{};
inline constexpr detail::submit_fn submit{};
inline constexpr detail::block_on_fn block_on{};

} // namespace rubato
