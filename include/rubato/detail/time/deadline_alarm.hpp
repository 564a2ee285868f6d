// A task beside an alarm that stops it. docs/design/timers.md
#pragma once

#include "rubato/detail/base/value_in_std.hpp"
#include "rubato/detail/coro/as_task.hpp"
#include "rubato/detail/coro/queued_group.hpp"
#include "rubato/detail/coro/race_wait.hpp"
#include "rubato/detail/time/sleep_awaiter.hpp"

#include <concepts>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace rubato::detail {

template<class A>
auto unlimited_task(A&& awaitable) {
  if constexpr (says_if_stopped<A>)
    return as_cancellable(std::forward<A>(awaitable));
  else
    return as_task(std::forward<A>(awaitable));
}

/// What may be ready at once, and else ends early in a stopped task.
template<class A, class Type = std::remove_cvref_t<A>>
concept looks_before_it_waits = is_future<Type>::value || is_shared_future<Type>::value || one_step<Type> ||
                                std::derived_from<Type, wait_operation>;

template<class A>
auto task_to_limit(A&& awaitable) {
  auto made = unlimited_task(std::forward<A>(awaitable));
  // In a stopped task too: a result that is ready is the result.
  if constexpr (looks_before_it_waits<A>) task_access::frame(made).promise().begin_though_stopped();
  return made;
}

template<class T>
using limited = std::conditional_t<std::is_void_v<T>, bool, std::optional<value_in_std<T>>>;

/// Stops the limited work when it is destroyed, unless the alarm was cancelled: an alarm that its pool
/// discards, begun or not, ends the time too, and so does one for which there is no memory.
class deadline_bell {
  stop_scope* limit_;
  stop_scope const& own_;
  bool& rang_;

public:
  deadline_bell(stop_scope& limit, stop_scope const& own, bool& rang) noexcept
      : limit_(&limit)
      , own_(own)
      , rang_(rang) {}
  deadline_bell(deadline_bell&& other) noexcept
      : limit_(std::exchange(other.limit_, nullptr))
      , own_(other.own_)
      , rang_(other.rang_) {}
  deadline_bell& operator=(deadline_bell&&) = delete;
  ~deadline_bell() { ring(); }
  void ring() noexcept {
    stop_scope* const limit = std::exchange(limit_, nullptr);
    if (limit == nullptr || own_.stop_requested()) return;
    rang_ = true;
    limit->request_stop();
  }
};

inline rubato::task<void> deadline_alarm(std::chrono::steady_clock::time_point t, deadline_bell b) {
  try {
    co_await sleep_awaiter(t);
  } catch (cancelled const&) { // NOLINT(bugprone-empty-catch): the alarm is cancelled, or the pool ends
  }
  b.ring();
}

template<class T>
rubato::task<limited<T>> run_until(rubato::task<T> awaited, std::chrono::steady_clock::time_point t) {
  bool const is_stopped = this_trampoline().running->is_stopped();
  stop_scope& own = this_trampoline().running->scope();
  nested_scope limit(own), alarm_scope(own);
  bool rang = false;
  group_of_one<void> clock(alarm_scope.own,
                           deadline_alarm(t, deadline_bell(limit.own, alarm_scope.own, rang)));
  group_of_one<T> work(limit.own, std::move(awaited));
  clock.begin_all_here(); // its timer must not wait for a thread
  work.start_all();
  co_await work.rest();
  alarm_scope.own.request_stop();
  co_await clock.rest();
  if (std::exception_ptr const error = work.take_failure(); error != nullptr) {
    // A loop that retries would never end otherwise.
    bool const ended_here = rang || this_trampoline().running->is_stopped(); // or by a stop, or a drain
    if (is_stopped || !is_cancelled(error) || !ended_here) std::rethrow_exception(error);
    throw_if_memory_lacked(clock.take_failure()); // there was no alarm, which has ended the time at once
    if constexpr (std::is_void_v<T>)
      co_return false;
    else
      co_return std::nullopt; // g++ 12 takes an empty temporary for uninitialised
  }
  if constexpr (std::is_void_v<T>)
    co_return true;
  else
    co_return limited<T>(std::in_place, in_std<T>(work.take_result()));
}

/// The awaitable of with_deadline().
template<class A>
auto await_until(A&& awaitable, std::chrono::steady_clock::time_point t) {
  constexpr bool x_fits = becomes_task<A>;
  static_assert(x_fits, "rubato: with_deadline(x, t): x must be a task, a future or something else that "
                        "co_await takes; std::move a task or a future that has a name");
  if constexpr (x_fits)
    return run_until(task_to_limit(std::forward<A>(awaitable)), t);
  else
    return refused();
}

} // namespace rubato::detail
