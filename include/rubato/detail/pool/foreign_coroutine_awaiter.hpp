// How a coroutine of another library waits for a future. docs/design/coroutines.md
#pragma once

#include "rubato/detail/future/future_impl.hpp"
#include "rubato/detail/future/job.hpp"

#include <coroutine>
#include <utility>

namespace rubato::detail {

/// Awaits a future in a coroutine of another library. A separate task resumes the coroutine on a worker,
/// outside the call that completes the result.
template<class Future>
class foreign_coroutine_awaiter : task, future_waiter {
  Future future_;
  std::coroutine_handle<> coroutine_;

  /// Also called by a pool that discards its work: the result is ready, so it resumes the coroutine.
  static void resume(task& base, thread_context* /*runner*/) noexcept {
    static_cast<foreign_coroutine_awaiter&>(base).coroutine_.resume();
  }
  static void queue(future_waiter& base, completions& /*more*/) noexcept {
    auto& self = static_cast<foreign_coroutine_awaiter&>(base);
    queue_near(self, future_access::state(self.future_)->home());
  }

public:
  explicit foreign_coroutine_awaiter(Future f)
      : task(&resume)
      , future_waiter(&queue)
      , future_(std::move(f)) {
    if (!future_.valid()) throw_no_state("rubato: co_await of a future that has no state");
  }
  foreign_coroutine_awaiter(foreign_coroutine_awaiter const&) = delete;
  ~foreign_coroutine_awaiter() = default;

  [[nodiscard]] bool await_ready() const noexcept { return future_.ready(); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) noexcept {
    coroutine_ = h;
    return future_access::state(future_)->waiters.add(*this);
  }
  decltype(auto) await_resume() { return future_.get(); }
};

} // namespace rubato::detail
