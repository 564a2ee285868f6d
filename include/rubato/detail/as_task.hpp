// Anything that can be awaited, as a task. docs/design/coroutines.md
#pragma once

#include "rubato/detail/awaiters.hpp"
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
/// A copy of the value, as of futures alone: the state may go.
template<class A>
  requires(is_shared_future<std::remove_cvref_t<A>>::value)
[[nodiscard]] auto as_task(A&& a) {
  using type = std::remove_cvref_t<A>;
  return
      [](type own) -> rubato::task<typename type::value_type> { co_return co_await own; }(std::forward<A>(a));
}
/// Ends by a value when it is stopped.
template<class A>
concept says_if_stopped = requires(A const& a) { a.was_stopped(); };
/// The same as a task that throws cancelled then.
template<says_if_stopped A>
[[nodiscard]] rubato::task<awaited_t<A>> as_cancellable(A a) {
  return [](A own) -> rubato::task<awaited_t<A>> {
    auto result = co_await std::move(own);
    if (own.was_stopped()) throw cancelled(); // NOLINT(bugprone-use-after-move): it was awaited in its place
    co_return result;
  }(std::move(a));
}
template<class A>
  requires(!is_task<std::remove_cvref_t<A>>::value && !is_shared_future<std::remove_cvref_t<A>>::value)
[[nodiscard]] rubato::task<awaited_t<std::decay_t<A>>> as_task(A&& a) {
  return [](std::decay_t<A> own) -> rubato::task<awaited_t<std::decay_t<A>>> {
    co_return co_await std::move(own);
  }(std::forward<A>(a));
}

/// co_await: until that state has its result, whatever is stopped.
class end_of_work final : public own_awaitable, suspension {
  struct waiter final : future_waiter {
    end_of_work& self;
    explicit waiter(end_of_work& w) noexcept
        : future_waiter(&fire)
        , self(w) {}
    static void fire(future_waiter& base, completions& /*more*/) noexcept {
      static_cast<waiter&>(base).self.end_wait();
    }
  };
  future_state& state_;
  waiter waiter_{*this};

  [[nodiscard]] bool insert() noexcept override { return state_.waiters.add(waiter_); }
  [[nodiscard]] bool remove() noexcept override { return false; }

public:
  explicit end_of_work(future_state& s) noexcept
      : suspension(ends::with_children)
      , state_(s) {}
  [[nodiscard]] bool await_ready() const noexcept { return state_.done(); }
  template<std::derived_from<own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) {
    return suspend(h);
  }
  void await_resume() noexcept { static_cast<void>(retire()); }
};

/// A member of when_all(), beside tasks: when it is stopped it ends after the work of a future has.
template<class A>
[[nodiscard]] auto as_member(A&& a) {
  return as_task(std::forward<A>(a));
}
template<class T>
[[nodiscard]] rubato::task<T> as_member(future<T> f) {
  state_ref const kept = future_access::state(f);
  try {
    co_return co_await std::move(f);
  } catch (cancelled const&) {
    if (kept->done() || ends_without(*kept.get(), true)) throw;
  }
  // Stopped: the future is gone, which has asked its work to stop.
  end_of_work rest(*kept.get());
  co_await rest;
  throw cancelled();
}

/// Can as_task() make a task of what was passed as an A&&? A task must be an rvalue.
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
