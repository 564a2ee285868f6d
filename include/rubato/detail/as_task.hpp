// Anything that can be awaited, as a task. docs/design/coroutines.md
#pragma once

#include "rubato/detail/awaiters.hpp"
#include "rubato/detail/task_impl.hpp"
#include "rubato/task.hpp"

#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato::detail {

/// What awaiting an A yields.
template<class A>
using awaited_t = decltype(make_awaiter(std::declval<A>()).await_resume());

/// A task is one already.
template<class T>
[[nodiscard]] rubato::task<T> as_task(rubato::task<T>&& t) {
  return std::move(t);
}
template<class A>
  requires(!is_task<std::remove_cvref_t<A>>::value)
[[nodiscard]] rubato::task<awaited_t<std::decay_t<A>>> as_task(A&& a) {
  return [](std::decay_t<A> own) -> rubato::task<awaited_t<std::decay_t<A>>> {
    co_return co_await std::move(own);
  }(std::forward<A>(a));
}

template<class Range>
[[nodiscard]] auto tasks_of(Range&& range) {
  using element = std::ranges::range_value_t<Range>;
  std::vector<decltype(as_task(std::declval<element>()))> all;
  for (auto&& a : range) all.push_back(as_task(static_cast<element&&>(a)));
  return all;
}

} // namespace rubato::detail
