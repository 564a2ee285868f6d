// A coroutine's wait in a list. docs/design/async-sync.md
#pragma once

#include "rubato/detail/activity.hpp"
#include "rubato/detail/coroutine.hpp"
#include "rubato/detail/wait_list.hpp"

#include <concepts>
#include <coroutine>
#include <exception>
#include <utility>

namespace rubato::detail {

/// An awaiter that waits in a wait_list: it lives in the coroutine's frame, so that a wait allocates nothing.
/// Until it is awaited it may be moved.
class waiter : public suspension, public wait_node, public own_awaitable {
protected:
  waiter() noexcept = default;
  waiter(waiter&& /*not awaited yet*/) noexcept
      : waiter() {}
  ~waiter() = default;

  /// In insert(): what it awaited has thrown. `error` is left empty if its race was decided for another.
  void fail_with(std::exception_ptr& error, std::exception_ptr e) noexcept {
    race_entry const own = entry();
    if (own.race == nullptr || own.race->claim(own.index)) error = std::move(e);
  }

public:
  waiter& operator=(waiter&&) = delete;

  /// For the owner of its race. As insert(): false: it ended there, or has lost the race.
  [[nodiscard]] bool begin_race() { return insert(); }
  void leave_race() noexcept { static_cast<void>(remove()); }
  /// It was taken out of its list, and has got what it waited for: ends the wait.
  void wake() noexcept {
    auto* const r = static_cast<race*>(entry().race);
    if (r != nullptr && r->wake != nullptr) [[unlikely]]
      r->wake(*r);
    else
      end_wait();
  }

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
    while (wait_node* const n = pop()) static_cast<waiter&>(*n).wake();
  }
};

} // namespace rubato::detail
