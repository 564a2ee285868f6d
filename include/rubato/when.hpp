// Waits for several results: for all of them, for the first successes, or for the first that ends.
//
//   #include <rubato/spawn.hpp>
//   #include <rubato/when.hpp>
//
//   #include <cstdio>
//
//   int main() {
//     auto both = rubato::when_all(rubato::spawn([] { return 1; }), rubato::spawn([] { return 'b'; }));
//     auto [one, b] = both.get();
//     std::printf("%d %c\n", one, b); // -> 1 b
//     auto any = rubato::when_any(rubato::spawn([] { return 7; }), rubato::spawn([] { return 7; }));
//     std::visit([](int first) { std::printf("%d\n", first); }, any.get().value); // -> 7
//     rubato::promise<int> never_set;
//     auto first = rubato::when_first(never_set.get_future(), rubato::spawn([] { return 7; }));
//     std::printf("input %zu\n", first.get().index); // -> input 1
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/coro/when_tasks.hpp"
#include "rubato/detail/future/when_some_state.hpp"
#include "rubato/detail/future/when_state.hpp"
#include "rubato/future.hpp"
#include "rubato/task.hpp"

#include <cstddef>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>

namespace rubato {

/// The argument that has decided a when_any() or when_first(), or one of those that when_some() yields: its
/// `.index`, and its `.value`, which is a variant, or for a range the value itself. void becomes
/// std::monostate, a reference std::reference_wrapper.
template<class Value>
using when_any_result = detail::any_result<Value>;

namespace detail {

struct when_all_fn {
  /// Yields the tuple of all values, with std::monostate for void. The thread on which an argument fails
  /// first asks the other arguments to stop. The waiter throws that failure when all begun work has ended. A
  /// shared_future has other owners, so it is neither stopped nor, after a failure, awaited. A promise sees
  /// the request in its token, and is not awaited.
  ///
  /// If all arguments are futures (an lvalue is moved from) or shared futures (copied), the result is a
  /// future. Without arguments it is ready. It takes one allocation.
  ///
  /// If an argument is another awaitable, such as a task, the result is an awaitable that converts to a task.
  /// The arguments become children of the awaiting coroutine and stop with it. They are forks, like those of
  /// join(): the first begins on this thread, the others on free workers, or one after the other on this
  /// thread. A child must not block its thread to wait for another child; it may co_await it. Nothing is
  /// allocated beside the tasks' frames unless a child runs on another thread.
  template<class... As>
    requires(is_some_future<As> && ...)
  auto operator()(As&&... futures) const {
    if constexpr (sizeof...(As) == 0)
      return make_ready_future(std::tuple<>());
    else
      return gather<when_all_state>(inputs_of(std::forward<As>(futures)...));
  }
  template<class... As>
    requires(sizeof...(As) != 0 && !(is_some_future<As> && ...) && !one_range<As...> && !fills_results<As...>)
  auto operator()(As&&... awaitables) const {
    if constexpr (can_be_awaited_together<As...>())
      return all_tasks_of(std::forward<As>(awaitables)...);
    else
      return refused_as<std::tuple<decltype(static_cast<void>(awaitables), refused())...>>();
  }
  /// when_all() of a range of futures or of other awaitables: yields the vector of all values, with
  /// std::monostate for void and std::reference_wrapper for references. Moves from the range's futures.
  template<future_range Range>
  auto operator()(Range&& range) const {
    return gather<when_all_state>(inputs_of_range(std::forward<Range>(range)));
  }
  template<std::ranges::input_range Range>
    requires(!future_range<Range>)
  auto operator()(Range&& range) const {
    if constexpr (can_be_awaited_together_in<Range>())
      return all_tasks_in(tasks_of(std::forward<Range>(range)));
    else
      return refused();
  }
  /// when_all() of the tasks of a contiguous range, whose results are assigned to the elements of another one
  /// of the same length: no vector is made. Both ranges belong to the caller and must outlive the wait. The
  /// tasks are moved from when it begins. If one fails, nothing is assigned. Yields nothing. Throws
  /// std::invalid_argument if the lengths differ.
  template<class Tasks, class Results>
    requires fills_results<Tasks, Results>
  auto operator()(Tasks&& tasks, Results&& results) const {
    using task_type = std::ranges::range_value_t<Tasks>;
    return all_tasks_into<typename task_type::value_type,
                          std::remove_reference_t<std::ranges::range_reference_t<Results>>>(tasks, results);
  }
};

struct when_any_fn {
  /// Waits for the first *success*: an argument that fails does not end the wait while another one may still
  /// succeed. when_first() waits for the first *completion*, value or exception: beside an argument that may
  /// wait for ever, such as signal_set::next(), it is the one that shows a failure.
  ///
  /// Yields the first success as a when_any_result, and asks the other arguments to stop. If all fail, it
  /// throws the last exception. Futures and other arguments are treated as by when_all(). Arguments that are
  /// not futures have ended when the result is ready. Callbacks that are registered with the losers' stop
  /// tokens run inside the set_value() that decides, on its thread.
  ///
  /// A receive(), send(), changed(), acquire(), scoped_lock(), scoped_shared_lock() or scoped_acquire() that
  /// is passed directly and loses has no effect: it takes no value and holds no lock. The same holds for
  /// interval::tick(), for a socket's accept(), read_some(), receive_from() and send_to(), for
  /// signal_set::next() and for exited(). If a when_any() has only such arguments and is stopped, it throws
  /// cancelled. Other tasks and futures that lose are asked to stop, and may have had effects.
  template<class... As>
    requires(sizeof...(As) != 0 && (is_some_future<As> && ...))
  auto operator()(As&&... futures) const {
    return gather<when_any_state>(inputs_of(std::forward<As>(futures)...));
  }
  template<class... As>
    requires(sizeof...(As) != 0 && !(is_some_future<As> && ...) && !one_range<As...>)
  auto operator()(As&&... awaitables) const {
    return any_of_awaitables(decided_by::success, std::forward<As>(awaitables)...);
  }
  /// when_any() of a range of futures or of other awaitables: the result holds the value itself, and no
  /// variant. Throws std::invalid_argument if the range is empty.
  template<future_range Range>
  auto operator()(Range&& range) const {
    return gather<when_any_state>(some_inputs_of(std::forward<Range>(range)));
  }
  template<std::ranges::input_range Range>
    requires(!future_range<Range>)
  auto operator()(Range&& range) const {
    return any_of_range(decided_by::success, std::forward<Range>(range));
  }
};

struct when_first_fn {
  /// Waits for the first *completion*: yields a value as a when_any_result, and throws an exception. Asks the
  /// other arguments to stop. Arguments, losers and results are those of when_any(), which waits for the
  /// first success.
  ///
  /// A `cancelled` that an argument throws is an exception like any other. If the waiting coroutine is
  /// stopped, or the resulting future cancelled, the arguments are asked to stop, and the wait ends when all
  /// of them have ended.
  template<class... As>
    requires(sizeof...(As) != 0 && (is_some_future<As> && ...))
  auto operator()(As&&... futures) const {
    return gather<when_first_state>(inputs_of(std::forward<As>(futures)...));
  }
  template<class... As>
    requires(sizeof...(As) != 0 && !(is_some_future<As> && ...) && !one_range<As...>)
  auto operator()(As&&... awaitables) const {
    return any_of_awaitables(decided_by::any_end, std::forward<As>(awaitables)...);
  }
  /// when_first() of a range of futures or of other awaitables: the result holds the value itself, and no
  /// variant. Throws std::invalid_argument if the range is empty.
  template<future_range Range>
  auto operator()(Range&& range) const {
    return gather<when_first_state>(some_inputs_of(std::forward<Range>(range)));
  }
  template<std::ranges::input_range Range>
    requires(!future_range<Range>)
  auto operator()(Range&& range) const {
    return any_of_range(decided_by::any_end, std::forward<Range>(range));
  }
};

struct when_some_fn {
  /// Waits for the first n *successes* of a range: yields them as a vector of when_any_result, in the order
  /// in which they arrived, and asks the other arguments to stop. If so many fail that n can succeed no more,
  /// it asks the others to stop, and throws the exception after which that was so. With n = 0 it is ready,
  /// and no argument is begun. Throws std::invalid_argument if the range has fewer than n elements.
  ///
  /// Arguments, losers and results are those of when_any(). Of operations that take effect in one step, such
  /// as receive(), at most n do. They take effect one by one: if the wait fails or is stopped later, those
  /// that have won until then have had their effect, and their results are dropped, as with when_all(); a
  /// lock among them is unlocked. A winner that fails afterwards, because a value cannot be moved, is not
  /// replaced: when_some() throws its exception.
  template<future_range Range>
  auto operator()(std::size_t n, Range&& range) const {
    return gather_some(n, enough_inputs_of(n, std::forward<Range>(range)));
  }
  template<std::ranges::input_range Range>
    requires(!future_range<Range>)
  auto operator()(std::size_t n, Range&& range) const {
    return some_of_range(n, std::forward<Range>(range));
  }
  template<class... Other>
    requires(!number_and_range<Other...>)
  auto operator()(Other&&... /*arguments*/) const {
    static_assert(number_and_range<Other...>,
                  "rubato: when_some(n, range): a number, and a range of futures or tasks");
    return refused();
  }
};

} // namespace detail

inline constexpr detail::when_all_fn when_all{};
inline constexpr detail::when_any_fn when_any{};
inline constexpr detail::when_first_fn when_first{};
inline constexpr detail::when_some_fn when_some{};

} // namespace rubato
