// What a coroutine of another library does with a future or a task of ours.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/detail/future_impl.hpp"
#include "rubato/detail/job.hpp"
#include "rubato/future.hpp"
#include "rubato/spawn.hpp"
#include "rubato/task.hpp"

#include <coroutine>
#include <utility>

namespace rubato {

namespace detail {

/// co_await of a future in a coroutine of another library: it is resumed on a worker, by a task of its own,
/// not inside whatever brings the result.
template<class T, class Future>
class foreign_coroutine_awaiter {
  struct resumption final : task {
    std::coroutine_handle<> coroutine;
    resumption() noexcept
        : task(&run) {
      holds_room = false;
    }
    /// A pool that discards its work resumes it too: the result is there.
    static void run(task& base, member* /*runner*/) noexcept {
      static_cast<resumption&>(base).coroutine.resume();
    }
  };
  struct waiter final : future_waiter {
    foreign_coroutine_awaiter& self;
    explicit waiter(foreign_coroutine_awaiter& a) noexcept
        : future_waiter(&fire)
        , self(a) {}
    static void fire(future_waiter& base, completions& /*more*/) noexcept {
      foreign_coroutine_awaiter& a = static_cast<waiter&>(base).self;
      queue_near(a.resumption_, future_access::state(a.future_)->home());
    }
  };

  Future future_;
  waiter waiter_{*this};
  resumption resumption_;

public:
  explicit foreign_coroutine_awaiter(Future f)
      : future_(std::move(f)) {
    if (!future_.valid()) throw_no_state("rubato: co_await of a future that has no state");
  }
  foreign_coroutine_awaiter(foreign_coroutine_awaiter const&) = delete;
  foreign_coroutine_awaiter& operator=(foreign_coroutine_awaiter const&) = delete;
  ~foreign_coroutine_awaiter() = default;

  [[nodiscard]] bool await_ready() const noexcept { return future_.ready(); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) noexcept {
    resumption_.coroutine = h;
    return future_access::state(future_)->waiters.add(waiter_);
  }
  decltype(auto) await_resume() { return future_.get(); }
};

} // namespace detail

/// co_await of a future or a task in a coroutine of another library, which then goes on on a worker: of the
/// pool that made the result, else of the global one. The coroutine must not be destroyed while it waits. A
/// task is spawned on the current pool. In coroutines of Rubato's these are not used.
template<class T>
[[nodiscard]] detail::foreign_coroutine_awaiter<T, future<T>> operator co_await(future<T>&& f) {
  return detail::foreign_coroutine_awaiter<T, future<T>>(std::move(f));
}
template<class T>
[[nodiscard]] detail::foreign_coroutine_awaiter<T, shared_future<T>> operator co_await(shared_future<T> f) {
  return detail::foreign_coroutine_awaiter<T, shared_future<T>>(std::move(f));
}
template<class T>
[[nodiscard]] detail::foreign_coroutine_awaiter<T, future<T>> operator co_await(task<T>&& t) {
  return detail::foreign_coroutine_awaiter<T, future<T>>(spawn(std::move(t)));
}

} // namespace rubato
