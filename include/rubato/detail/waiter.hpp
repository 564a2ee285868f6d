// A coroutine's wait in a list. docs/design/async-sync.md
#pragma once

#include "rubato/detail/activity.hpp"
#include "rubato/detail/coroutine.hpp"
#include "rubato/detail/wait_list.hpp"

#include <concepts>
#include <coroutine>

namespace rubato::detail {

/// An awaiter that waits in a wait_list: it lives in the coroutine's frame, so that a wait allocates nothing.
/// Until it is awaited it may be moved.
class waiter : public suspension, public wait_node, public own_awaitable {
protected:
  waiter() noexcept = default;
  waiter(waiter&& /*not awaited yet*/) noexcept
      : waiter() {}
  ~waiter() = default;

public:
  waiter& operator=(waiter&&) = delete;

  template<std::derived_from<own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
    return suspend(h);
  }
};

/// Waiters that were taken out of their lists under a lock. They go on when this ends, which is declared
/// before the lock is taken: when the first one goes on, the thread is out of the object that they waited
/// for, and that one may destroy it.
class woken : public wait_chain {
public:
  woken() noexcept = default;
  woken(woken const&) = delete;
  woken& operator=(woken const&) = delete;
  ~woken() {
    // pop() reads the link first: nothing of a waiter is touched once it goes on.
    while (wait_node* const n = pop()) static_cast<waiter&>(*n).end_wait();
  }
};

} // namespace rubato::detail
