// A coroutine's wait in a list. docs/design/async-sync.md
#pragma once

#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/coro/coroutine_task.hpp"
#include "rubato/detail/sync/wait_list.hpp"

#include <exception>
#include <utility>

namespace rubato::detail {

/// An awaiter that waits in a wait_list. It lives in the coroutine's frame, so a wait allocates nothing. It
/// may be moved until it is awaited.
class waiter : public wait_operation, public wait_node {
protected:
  waiter() noexcept = default;
  waiter(waiter&& /*not awaited yet*/) noexcept
      : waiter() {}
  ~waiter() = default;

  /// For insert(): the awaited operation has thrown. `error` stays empty if another operation has won its
  /// race.
  void fail_with(std::exception_ptr& error, std::exception_ptr e) noexcept {
    race_entry const own = entry();
    if (own.race == nullptr || own.race->claim(own.index)) error = std::move(e);
  }

public:
  waiter& operator=(waiter&&) = delete;

  /// For the owner of its race, as insert(). False: it has ended there, or has lost the race.
  [[nodiscard]] bool begin_race() { return insert(); }
  virtual void leave_race() noexcept { static_cast<void>(remove()); }
  /// Ends the wait: a thread has taken it out of its list with what it waited for.
  void wake(made_ready_by cause = made_ready_by::task) noexcept {
    auto* const r = static_cast<race*>(entry().race);
    if (r != nullptr && r->wake != nullptr) [[unlikely]]
      r->wake(*r, cause == made_ready_by::event);
    else
      end_wait(cause);
  }
};

/// Waiters that were taken out of their lists under a lock. The destructor resumes them. It is declared
/// before the lock is taken: when the first waiter resumes, the thread is out of the object that they waited
/// for, which that waiter may destroy.
class woken : public wait_chain {
public:
  woken() noexcept = default;
  ~woken() {
    // pop() reads the link first: a waiter is not touched once it is resumed.
    while (wait_node* const n = pop()) static_cast<waiter&>(*n).wake();
  }
};

} // namespace rubato::detail
