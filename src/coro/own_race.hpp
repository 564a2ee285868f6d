// The race in which a coroutine of the library's takes part. docs/design/races.md
#pragma once

#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/coro/coroutine_task.hpp"
#include "rubato/detail/sync/race.hpp"

#include <concepts>
#include <coroutine>

namespace rubato::detail {

/// co_await own_race() in an operation: the race of the when_any() that the operation was passed to directly.
/// Else no race: a coroutine that awaits the operation may have had other effects, or go on to have some.
class own_race : public own_awaitable {
  race_entry found_;

public:
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template<std::derived_from<own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
    bool const is_outermost = h.promise().is_outermost();
    if (is_outermost) found_ = this_trampoline().running->entry();
    return false;
  }
  [[nodiscard]] race_entry await_resume() const noexcept { return found_; }
};

} // namespace rubato::detail
