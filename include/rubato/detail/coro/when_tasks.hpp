// The arguments of when_all(), when_any(), when_first() and when_some() beside futures: tasks, operations;
// and what they return. docs/design/races.md
#pragma once

#include "rubato/detail/coro/as_task.hpp"
#include "rubato/detail/coro/forked_group.hpp"
#include "rubato/detail/coro/queued_group.hpp"
#include "rubato/detail/coro/race_wait.hpp"
#include "rubato/detail/future/when_some_state.hpp"
#include "rubato/task.hpp"

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <ranges>
#include <span>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato::detail {

template<class... As>
concept one_range = sizeof...(As) == 1 && (std::ranges::input_range<As> && ...);

/// True if when_all(), when_any() and when_first() accept these; otherwise an assertion fails with a message.
template<class... As>
[[nodiscard]] consteval bool can_be_awaited_together() {
  constexpr bool fit = (becomes_task<As> && ...);
  static_assert(fit, "rubato: when_all(a, b, ...), when_any(a, b, ...) and when_first(a, b, ...): each "
                     "must be a future, a shared_future or something else that co_await takes; "
                     "std::move a task that has a name");
  return fit;
}
template<class Range>
[[nodiscard]] consteval bool can_be_awaited_together_in() {
  constexpr bool fit = becomes_task<std::ranges::range_value_t<Range>>;
  static_assert(
      fit,
      "rubato: when_all(range), when_any(range), when_first(range) and when_some(n, range): its elements "
      "must be futures, shared_futures or tasks, or else what co_await takes");
  return fit;
}

/// `begin`: makes the tasks, which take part in the race.
template<class Tasks, class Begin, class Group = queued_group_of<Tasks>>
rubato::task<any_result<typename Group::value_type>> race_tasks(decided_by by, std::size_t number,
                                                                Begin begin) {
  co_await ready_wait();
  nested_scope limit(this_trampoline().running->scope());
  group_race among(number, by);
  Group all(limit.own, &among, begin(among));
  all.start_all();
  co_await among;
  limit.own.request_stop();
  co_await all.rest();
  among.throw_failure(all);
  std::size_t const winner = among.winner();
  co_return any_result<typename Group::value_type>{winner, all.value(winner)};
}

/// The same for the first successes, as many as are wanted, in the order in which they have won.
template<class Tasks, class Begin, class Group = queued_group_of<Tasks>>
rubato::task<std::vector<any_result<typename Group::value_type>>>
race_for_some(std::size_t wanted, std::size_t number, Begin begin) {
  using result = any_result<typename Group::value_type>;
  std::vector<result> made;
  if (wanted != 0) {
    co_await ready_wait();
    made.reserve(wanted); // as everything that may throw, before they begin
    std::vector<std::uint32_t> order(wanted);
    std::vector<winners::turn_type> turns(number);
    winners several(turns.data(), static_cast<std::uint32_t>(wanted));
    nested_scope limit(this_trampoline().running->scope());
    group_race among(number, decided_by::success, wanted, &several);
    Group all(limit.own, &among, begin(among));
    all.start_all();
    co_await among;
    limit.own.request_stop();
    co_await all.rest();
    among.throw_failure(all);
    for (std::uint32_t i = 0; i != number; ++i)
      if (std::uint32_t const turn = turns[i].get(); turn != 0) order[turn - 1] = i;
    for (std::uint32_t const i : order) made.push_back(result{i, all.value(i)});
  }
  co_return made;
}

/// The tasks of the parts. A one-step operation takes part in the race itself.
template<class... Parts, std::size_t... I>
auto begun(std::tuple<Parts...>& parts, race& among, std::index_sequence<I...> /*all*/) {
  return std::tuple(as_racer(std::move(std::get<I>(parts)), among, I)...);
}
template<class... Parts>
auto any_of_parts(decided_by by, Parts... parts) {
  using tasks = std::tuple<rubato::task<awaited_t<Parts>>...>;
  return race_tasks<tasks>(by, sizeof...(Parts),
                           [all = std::tuple<Parts...>(std::move(parts)...)](race& r) mutable {
                             return tasks(begun(all, r, std::index_sequence_for<Parts...>()));
                           });
}

// A one-step operation that fails decides its race, too: for these alone, `by` makes no difference.

template<class... As>
auto any_of_awaitables(decided_by by, As&&... awaitables) {
  if constexpr (!can_be_awaited_together<As...>())
    return refused();
  else if constexpr ((one_step<As> && ...))
    return any_step<std::decay_t<As>...>(std::forward<As>(awaitables)...);
  else
    return any_of_parts(by, as_part(std::forward<As>(awaitables))...);
}

template<class Range>
auto any_of_range(decided_by by, Range&& range) {
  if constexpr (!can_be_awaited_together_in<Range>()) {
    return refused();
  } else if constexpr (one_step<std::ranges::range_value_t<Range>>) {
    auto steps = steps_of(std::forward<Range>(range));
    refuse_none_of(steps);
    return any_step_of(std::move(steps));
  } else {
    auto tasks = tasks_of(std::forward<Range>(range));
    refuse_none_of(tasks);
    std::size_t const number = tasks.size();
    return race_tasks<decltype(tasks)>(by, number,
                                       [all = std::move(tasks)](race&) mutable { return std::move(all); });
  }
}

/// What when_some() is called with.
template<class... As>
inline constexpr bool number_and_range = false;
template<class N, class Range>
inline constexpr bool number_and_range<N, Range> =
    std::convertible_to<N, std::size_t> && std::ranges::input_range<Range>;

template<class Range>
auto some_of_range(std::size_t wanted, Range&& range) {
  using element = std::ranges::range_value_t<Range>;
  if constexpr (!can_be_awaited_together_in<Range>()) {
    return refused();
  } else if constexpr (one_step<element>) {
    using tasks = std::vector<rubato::task<awaited_t<element>>>;
    auto steps = steps_of(std::forward<Range>(range));
    std::size_t const number = steps.size();
    refuse_more_than(number, wanted);
    return race_for_some<tasks>(wanted, number, [all = std::move(steps)](race& among) mutable {
      tasks made;
      made.reserve(all.size());
      for (auto& a : all) made.push_back(as_racer(std::move(a), among, made.size()));
      return made;
    });
  } else {
    auto all = tasks_of(std::forward<Range>(range));
    std::size_t const number = all.size();
    refuse_more_than(number, wanted);
    return race_for_some<decltype(all)>(wanted, number,
                                        [from = std::move(all)](race&) mutable { return std::move(from); });
  }
}

/// The awaitable of when_all() of tasks. The members of a tuple are in it, where the awaiting coroutine has
/// it.
template<class Tasks>
class all_tasks;

template<class... Ts>
class [[nodiscard(
    "when_all() of tasks begins only when it is awaited")]] all_tasks<std::tuple<rubato::task<Ts>...>>
    : public awaited_in_place {
  using group_type = forked_group_of<std::tuple<rubato::task<Ts>...>>;
  using result = typename group_type::values_type;
  group_type group_;

public:
  class [[nodiscard]] awaiter_type {
    group_type& group_;

  public:
    [[gnu::always_inline]] explicit awaiter_type(group_type& g) noexcept
        : group_(g) {}
    awaiter_type(awaiter_type const&) = delete;
    awaiter_type& operator=(awaiter_type const&) = delete;
    [[gnu::always_inline]] ~awaiter_type() { group_.end_await(); }
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template<std::derived_from<own_promise> P>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
      return !group_.run(h);
    }
    [[gnu::always_inline]] result await_resume() { return group_.take(); }
  };

  /// Each has a coroutine.
  [[gnu::always_inline]] explicit all_tasks(rubato::task<Ts>&... tasks) noexcept
      : group_(tasks...) {}
  all_tasks(all_tasks&& other) noexcept
      : group_(std::move(other.group_)) {}
  all_tasks& operator=(all_tasks&&) = delete;
  ~all_tasks() = default;
  /// Called by co_await in a coroutine of Rubato.
  [[nodiscard, gnu::always_inline]] awaiter_type awaiter() noexcept { return awaiter_type(group_); }
  /// Converts to a task, which can also be spawned.
  operator rubato::task<result>() && { return as_task(std::move(*this)); }
  [[nodiscard]] rubato::task<result> operator()() && { return as_task(std::move(*this)); }
};

template<class T>
class [[nodiscard(
    "when_all() of tasks begins only when it is awaited")]] all_tasks<std::vector<rubato::task<T>>>
    : public awaited_in_place {
  using result = std::vector<value_in_std<T>>;
  std::vector<rubato::task<T>> tasks_;

public:
  class [[nodiscard]] awaiter_type {
    forked_group_of<std::vector<rubato::task<T>>> group_;

  public:
    explicit awaiter_type(std::vector<rubato::task<T>>&& tasks)
        : group_((check_unbegun(tasks), tasks.begin()), tasks.size()) {}
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template<std::derived_from<own_promise> P>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
      return !group_.run(h);
    }
    result await_resume() {
      result values;
      group_.take_each([&values, this](std::size_t i, auto&& value) {
        if (i == 0) values.reserve(group_.size());
        values.push_back(in_std<T>(static_cast<decltype(value)&&>(value)));
      });
      return values;
    }
  };

  explicit all_tasks(std::vector<rubato::task<T>>&& tasks) noexcept
      : tasks_(std::move(tasks)) {}
  /// Called by co_await in a coroutine of Rubato.
  [[nodiscard]] awaiter_type awaiter() { return awaiter_type(std::move(tasks_)); }
  /// Converts to a task, which can also be spawned.
  operator rubato::task<result>() && { return as_task(std::move(*this)); }
  [[nodiscard]] rubato::task<result> operator()() && { return as_task(std::move(*this)); }
};

/// What when_all(tasks, results) is called with.
template<class... As>
inline constexpr bool fills_results = false;
template<std::ranges::contiguous_range Tasks, std::ranges::contiguous_range Results>
  requires(std::ranges::sized_range<Tasks> && std::ranges::sized_range<Results> &&
           is_task<std::ranges::range_value_t<Tasks>>::value &&
           !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Tasks>>>)
inline constexpr bool fills_results<Tasks, Results> =
    std::assignable_from<std::ranges::range_reference_t<Results>,
                         value_of<typename std::ranges::range_value_t<Tasks>::value_type>>;

/// The awaitable of when_all(tasks, results): moves from these tasks when it is awaited, and assigns their
/// results when all of them have succeeded.
template<class T, class Result>
class [[nodiscard("when_all() of tasks begins only when it is awaited")]] all_tasks_into
    : public awaited_in_place {
  std::span<rubato::task<T>> tasks_;
  std::span<Result> results_;

public:
  class [[nodiscard]] awaiter_type {
    forked_group_of<std::vector<rubato::task<T>>> group_;
    std::span<Result> results_;

  public:
    awaiter_type(std::span<rubato::task<T>> tasks, std::span<Result> results)
        : group_((check_unbegun(tasks), tasks.begin()), tasks.size())
        , results_(results) {}
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template<std::derived_from<own_promise> P>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
      return !group_.run(h);
    }
    void await_resume() {
      group_.take_each(
          [this](std::size_t i, auto&& value) { results_[i] = static_cast<decltype(value)&&>(value); });
    }
  };

  all_tasks_into(std::span<rubato::task<T>> tasks, std::span<Result> results)
      : tasks_(tasks)
      , results_(results) {
    if (tasks.size() != results.size())
      throw std::invalid_argument("rubato: when_all(tasks, results): the ranges have different lengths");
  }
  /// Called by co_await in a coroutine of Rubato.
  [[nodiscard]] awaiter_type awaiter() { return awaiter_type(tasks_, results_); }
  /// Converts to a task, which can also be spawned.
  operator rubato::task<void>() && { return as_task(std::move(*this)); }
  [[nodiscard]] rubato::task<void> operator()() && { return as_task(std::move(*this)); }
};

/// Of arguments of when_all(). Those that are no tasks are converted to tasks, which the awaitable takes
/// over.
template<class... As>
[[nodiscard, gnu::always_inline]] inline auto all_tasks_of(As&&... awaitables) {
  return [](auto&&... tasks) { // tasks by reference; what as_member() has made lives to the end of the call
    (static_cast<void>(task_access::unbegun(tasks)), ...); // before the first is taken
    return all_tasks<std::tuple<std::remove_cvref_t<decltype(tasks)>...>>(tasks...);
  }(borrowed_member(std::forward<As>(awaitables))...);
}
template<class T>
[[nodiscard]] auto all_tasks_in(std::vector<rubato::task<T>>&& tasks) noexcept {
  return all_tasks<std::vector<rubato::task<T>>>(std::move(tasks));
}

} // namespace rubato::detail
