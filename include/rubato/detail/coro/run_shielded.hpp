// A task that runs under a stop scope of its own. docs/design/coroutines.md
#pragma once

#include "rubato/detail/coro/fork_group.hpp"

#include <exception>
#include <utility>

namespace rubato::detail {

template<class T>
rubato::task<T> run_shielded(rubato::task<T> awaited) {
  stop_scope shield{stop_scope::shield()};
  group_of_one<T> work(shield, std::move(awaited));
  work.group.start_all();
  co_await work.group.rest();
  if (std::exception_ptr const error = work.error(); error != nullptr) std::rethrow_exception(error);
  if constexpr (std::is_void_v<T>)
    work.take();
  else
    co_return work.take();
}

} // namespace rubato::detail
