// Coroutines that are children of another one: they stop with it, and it waits for them.
// docs/design/coroutines.md
#pragma once

#include "rubato/detail/awaiters.hpp"
#include "rubato/detail/child_job.hpp"
#include "rubato/detail/task_impl.hpp"
#include "rubato/task.hpp"

#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato::detail {

/// The stop scope of the coroutine that runs on this thread.
[[nodiscard]] inline stop_scope* own_stop() noexcept { return &this_trampoline().running->stop; }

/// Starts a task beside the coroutine that runs on this thread, on its pool.
template<class T>
[[nodiscard]] future<T> start_child(stop_scope& around, rubato::task<T>&& t) {
  activity const& parent = *this_trampoline().running;
  return start_child(*parent.home(), parent.seat, &around, std::move(t));
}

template<class T>
[[nodiscard]] std::vector<future<T>> start_children(stop_scope& around, std::vector<rubato::task<T>>& tasks) {
  std::vector<future<T>> out;
  out.reserve(tasks.size());
  for (rubato::task<T>& t : tasks) out.push_back(start_child(around, std::move(t)));
  return out;
}

/// co_await of a future that ends when the coroutine is stopped, so that it need not end early.
template<class T>
class structured_awaiter final : public own_awaitable, suspension {
  struct waiter final : future_waiter {
    structured_awaiter& self;
    explicit waiter(structured_awaiter& a) noexcept
        : future_waiter(&fire)
        , self(a) {}
    static void fire(future_waiter& base, completions& /*more*/) noexcept {
      static_cast<waiter&>(base).self.end_wait();
    }
  };

  future<T> future_;
  waiter waiter_{*this};

  [[nodiscard]] bool insert() noexcept override {
    return future_access::state(future_)->waiters.add(waiter_);
  }
  [[nodiscard]] bool remove() noexcept override { return false; }

public:
  explicit structured_awaiter(future<T>&& f) noexcept
      : suspension(ends::with_children)
      , future_(std::move(f)) {}
  structured_awaiter(structured_awaiter const&) = delete;
  structured_awaiter& operator=(structured_awaiter const&) = delete;
  ~structured_awaiter() = default;

  [[nodiscard]] bool await_ready() const noexcept { return future_.ready(); }
  template<std::derived_from<own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
    return suspend(h);
  }
  T await_resume() { return future_.get(); }
};

template<class T>
[[nodiscard]] structured_awaiter<T> structured(future<T>&& f) {
  return structured_awaiter<T>(std::move(f));
}

/// What awaiting an A yields.
template<class A>
using awaited_t = decltype(make_awaiter(std::declval<A>()).await_resume());

/// Anything that can be awaited, as a task of its own; a task is that already.
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
