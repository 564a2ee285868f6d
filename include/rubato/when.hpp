// Waits for several results: for all of them, or for the first success.
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
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/base/value_in_std.hpp"
#include "rubato/detail/coro/all_tasks.hpp"
#include "rubato/detail/coro/as_task.hpp"
#include "rubato/detail/coro/fork_group.hpp"
#include "rubato/detail/coro/race_wait.hpp"
#include "rubato/detail/future/when_state.hpp"
#include "rubato/future.hpp"
#include "rubato/task.hpp"

#include <cstddef>
#include <exception>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace rubato {

/// The first success: its `.index`, and its `.value`, which is a variant, or for a range the value itself.
/// void becomes std::monostate, a reference std::reference_wrapper.
template<class Value>
using when_any_result = detail::any_result<Value>;

namespace detail {

template<class A>
inline constexpr bool is_some_future =
    is_future<std::remove_cvref_t<A>>::value || is_shared_future<std::remove_cvref_t<A>>::value;

template<class F>
void put_input(when_input& g, F&& f) {
  using type = std::remove_cvref_t<F>;
  using value = typename type::value_type;
  static_assert(
      is_future<type>::value || std::is_void_v<value> || std::is_reference_v<value> ||
          std::is_copy_constructible_v<value>,
      "rubato: when_all() and when_any() copy the value of a shared_future, and this one cannot be copied");
  if (!f.valid()) throw_no_state("rubato: when_all() or when_any() of a future that has no state");
  g.owned = is_future<type>::value;
  if constexpr (is_future<type>::value)
    g.source = std::move(future_access::state(f));
  else
    g.source = future_access::state(f);
}

template<class... Fs>
auto inputs_of(Fs&&... fs) {
  tuple_inputs<typename std::remove_cvref_t<Fs>::value_type...> in;
  std::size_t i = 0;
  (put_input(in[i++], std::forward<Fs>(fs)), ...);
  return in;
}

template<class Range>
auto inputs_of_range(Range&& range) {
  using element = std::ranges::range_value_t<Range>;
  range_inputs<typename element::value_type> in;
  std::vector<when_input> grown;
  if constexpr (std::ranges::sized_range<Range>) grown.reserve(std::ranges::size(range));
  for (auto&& f : range) {
    grown.emplace_back();
    put_input(grown.back(), static_cast<element&>(f));
  }
  in.count = grown.size();
  in.all = std::make_unique<when_input[]>(in.count);
  std::ranges::move(grown, in.all.get());
  return in;
}

template<template<class> class State, class Inputs>
auto gather(Inputs in) {
  using type = State<Inputs>;
  using result = std::remove_cvref_t<decltype(std::declval<type&>().slot().take())>;
  auto* const made = make_in_slab<type>(std::move(in));
  future<result> out = future_access::make<result>(state_ref(made));
  made->begin();
  return out;
}

template<class Range>
concept future_range = std::ranges::input_range<Range> && is_some_future<std::ranges::range_value_t<Range>>;

template<class... As>
concept one_range = sizeof...(As) == 1 && (std::ranges::input_range<As> && ...);

/// True if when_all() and when_any() accept these; otherwise an assertion fails with a message.
template<class... As>
[[nodiscard]] consteval bool can_be_awaited_together() {
  constexpr bool fit = (becomes_task<As> && ...);
  static_assert(fit, "rubato: when_all(a, b, ...) and when_any(a, b, ...): each must be a "
                     "future, a shared_future or something else that co_await takes; "
                     "std::move a task that has a name");
  return fit;
}
template<class Range>
[[nodiscard]] consteval bool can_be_awaited_together_in() {
  constexpr bool fit = becomes_task<std::ranges::range_value_t<Range>>;
  static_assert(fit,
                "rubato: when_all(range) and when_any(range): its elements must be futures, shared_futures "
                "or tasks, or else what co_await takes");
  return fit;
}

struct when_all_fn {
  /// Yields the tuple of all values, with std::monostate for void. After the first failure, the thread on
  /// which it happens asks all others to stop, and the failure is thrown when all begun work has ended. A
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
    requires(sizeof...(As) != 0 && !(is_some_future<As> && ...) && !one_range<As...>)
  auto operator()(As&&... awaitables) const {
    if constexpr (can_be_awaited_together<As...>())
      return all_tasks(std::tuple(as_member(std::forward<As>(awaitables))...));
    else
      return refused_as<std::tuple<decltype(static_cast<void>(awaitables), refused())...>>();
  }
  /// when_all() of a range: yields the vector of all values, with std::monostate for void and
  /// std::reference_wrapper for references. Moves from the range's futures.
  template<future_range Range>
  auto operator()(Range&& range) const {
    return gather<when_all_state>(inputs_of_range(std::forward<Range>(range)));
  }
  template<std::ranges::input_range Range>
    requires(!future_range<Range>)
  auto operator()(Range&& range) const {
    if constexpr (can_be_awaited_together_in<Range>())
      return all_tasks(tasks_of(std::forward<Range>(range)));
    else
      return refused();
  }
};

struct when_any_fn {
  /// Yields the first success as a when_any_result, and asks the other arguments to stop. If all fail, it
  /// throws the last exception. Futures and other arguments are treated as by when_all(). Arguments that are
  /// not futures have ended when the result is ready. Callbacks that are registered with the losers' stop
  /// tokens run inside the set_value() that decides, on its thread.
  ///
  /// A receive(), send(), lock(), scoped_lock() or acquire() that is passed directly and loses has no effect:
  /// it takes no value and holds no lock. The same holds for a socket's accept(), read_some(), receive_from()
  /// and send_to(), for signal_set::next() and for exited(). If a when_any() has only such arguments and is
  /// stopped, it throws cancelled. Other tasks and futures that lose are asked to stop, and may have had
  /// effects.
  template<class... As>
    requires(sizeof...(As) != 0 && (is_some_future<As> && ...))
  auto operator()(As&&... futures) const {
    return gather<when_any_state>(inputs_of(std::forward<As>(futures)...));
  }
  template<class... As>
    requires(sizeof...(As) != 0 && !(is_some_future<As> && ...) && !one_range<As...>)
  auto operator()(As&&... awaitables) const {
    if constexpr (!can_be_awaited_together<As...>())
      return refused();
    else if constexpr ((one_step<As> && ...))
      return any_step<std::decay_t<As>...>(std::forward<As>(awaitables)...);
    else
      return any_of(as_part(std::forward<As>(awaitables))...);
  }
  /// when_any() of a range: the result holds the value itself, and no variant. Throws std::invalid_argument
  /// if the range is empty.
  template<future_range Range>
  auto operator()(Range&& range) const {
    auto in = inputs_of_range(std::forward<Range>(range));
    if (in.size() == 0) throw std::invalid_argument("rubato: when_any() of nothing would never be there");
    return gather<when_any_state>(std::move(in));
  }
  template<std::ranges::input_range Range>
    requires(!future_range<Range>)
  auto operator()(Range&& range) const {
    if constexpr (!can_be_awaited_together_in<Range>()) {
      return refused();
    } else if constexpr (one_step<std::ranges::range_value_t<Range>>) {
      auto steps = steps_of(std::forward<Range>(range));
      if (steps.empty()) throw std::invalid_argument("rubato: when_any() of nothing would never be there");
      return any_step_of(std::move(steps));
    } else {
      auto tasks = tasks_of(std::forward<Range>(range));
      if (tasks.empty()) throw std::invalid_argument("rubato: when_any() of nothing would never be there");
      std::size_t const count = tasks.size();
      return run<decltype(tasks)>(count, [all = std::move(tasks)](race&) mutable { return std::move(all); });
    }
  }

private:
  /// The tasks of the parts. A one-step operation takes part in the race itself.
  template<class... Parts, std::size_t... I>
  static auto begun(std::tuple<Parts...>& parts, race& among, std::index_sequence<I...> /*all*/) {
    return std::tuple(as_racer(std::move(std::get<I>(parts)), among, I)...);
  }
  template<class... Parts>
  static auto any_of(Parts... parts) {
    using tasks = std::tuple<rubato::task<awaited_t<Parts>>...>;
    return run<tasks>(sizeof...(Parts), [all = std::tuple<Parts...>(std::move(parts)...)](race& r) mutable {
      return tasks(begun(all, r, std::index_sequence_for<Parts...>()));
    });
  }
  /// `begin`: makes the tasks, which take part in the race.
  template<class Tasks, class Begin, class Group = fork_group_of<Tasks>>
  static rubato::task<any_result<typename Group::value_type>> run(std::size_t count, Begin begin) {
    nested_scope limit(this_trampoline().running->scope());
    group_race race(count);
    Group all(limit.own, &race, begin(race));
    all.group.start_all();
    co_await race;
    limit.own.request_stop();
    co_await all.group.rest();
    std::size_t const winner = race.winner() != group_race::none ? race.winner() : race.last_failed();
    if (std::exception_ptr const error = all[winner].error(); error != nullptr) std::rethrow_exception(error);
    co_return any_result<typename Group::value_type>{winner, all.value(winner)};
  }
};

} // namespace detail

inline constexpr detail::when_all_fn when_all{};
inline constexpr detail::when_any_fn when_any{};

} // namespace rubato
