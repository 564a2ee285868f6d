// Converts any awaitable to a task. docs/design/coroutines.md
#pragma once

#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/task.hpp"

#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato::detail {

/// A task stays as it is.
template<class T>
[[nodiscard]] rubato::task<T> as_task(rubato::task<T>&& t) {
  return std::move(t);
}
/// The library drops it if it loses or is stopped: its failure is no news then.
template<class T>
future<T>&& silenced(future<T>&& f) noexcept {
  if (f.valid()) future_access::state(f)->silent = true;
  return std::move(f);
}
template<class T>
[[nodiscard]] rubato::task<T> as_task(future<T>&& f) {
  return [](future<T> own) -> rubato::task<T> { co_return co_await std::move(own); }(silenced(std::move(f)));
}
/// A copy of the value, for futures only: their state may go.
template<class A>
  requires(is_shared_future<std::remove_cvref_t<A>>::value)
[[nodiscard]] auto as_task(A&& a) {
  using type = std::remove_cvref_t<A>;
  using value = typename type::value_type;
  return
      [](type own) -> rubato::task<value> { co_return static_cast<value>(co_await own); }(std::forward<A>(a));
}
/// An awaitable that yields a value when it is stopped.
template<class A>
concept says_if_stopped = requires(A const& a) { a.was_stopped(); };
/// Converts it to a task that throws cancelled when it is stopped.
template<says_if_stopped A>
[[nodiscard]] rubato::task<awaited_t<A>> as_cancellable(A a) {
  return [](A own) -> rubato::task<awaited_t<A>> {
    auto result = co_await std::move(own);
    if (own.was_stopped()) throw cancelled(); // NOLINT(bugprone-use-after-move): it was not moved
    co_return result;
  }(std::move(a));
}
template<class A>
  requires(!is_task<std::remove_cvref_t<A>>::value && !is_shared_future<std::remove_cvref_t<A>>::value &&
           !is_future<std::remove_cvref_t<A>>::value)
[[nodiscard]] rubato::task<awaited_t<std::decay_t<A>>> as_task(A&& a) {
  return [](std::decay_t<A> own) -> rubato::task<awaited_t<std::decay_t<A>>> {
    co_return co_await std::move(own);
  }(std::forward<A>(a));
}

/// An argument of when_all() beside tasks: when it is stopped, it ends after the future's work has ended.
template<class A>
[[nodiscard]] auto as_member(A&& a) {
  return as_task(std::forward<A>(a));
}
template<class T>
[[nodiscard]] rubato::task<T> await_work_of(future<T> f) {
  state_ref const kept = future_access::state(f);
  try {
    co_return co_await std::move(f);
  } catch (cancelled const&) {
    if (kept->done() || ends_without(*kept.get(), true)) throw;
  }
  // Stopped: the future was dropped, which asked its work to stop.
  end_of_work rest(*kept.get());
  co_await rest;
  throw cancelled();
}

/// The work may have begun before the member: the member begins even if it was stopped, and waits for that.
template<class T>
[[nodiscard]] rubato::task<T> as_member(future<T> f) {
  rubato::task<T> member = await_work_of(silenced(std::move(f)));
  task_access::frame(member).promise().begin_though_stopped();
  return member;
}

/// The same, but a task stays where it is.
template<class T>
[[nodiscard, gnu::always_inline]] inline rubato::task<T>&& borrowed_member(rubato::task<T>&& t) noexcept {
  return std::move(t);
}
template<class A>
  requires(!is_task<std::remove_cvref_t<A>>::value)
[[nodiscard]] auto borrowed_member(A&& a) {
  return as_member(std::forward<A>(a));
}

/// True if as_task() can convert an argument passed as A&&. A task must be an rvalue.
template<class A>
concept becomes_task = awaitable<A> && can_be_kept<A> && requires(A&& a) { as_task(static_cast<A&&>(a)); };

template<class T>
[[nodiscard]] std::vector<rubato::task<T>> tasks_of(std::vector<rubato::task<T>>&& all) {
  return std::move(all);
}
template<class Range>
[[nodiscard]] auto tasks_of(Range&& range) {
  using element = std::ranges::range_value_t<Range>;
  std::vector<decltype(as_task(std::declval<element>()))> all;
  if constexpr (std::ranges::sized_range<Range>) all.reserve(std::ranges::size(range));
  for (auto&& a : range) all.push_back(as_task(static_cast<element&&>(a)));
  return all;
}

} // namespace rubato::detail
