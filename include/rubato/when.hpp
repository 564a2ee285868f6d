// Waiting for several results at once.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/detail/all_tasks.hpp"
#include "rubato/detail/as_task.hpp"
#include "rubato/detail/gather.hpp"
#include "rubato/detail/race_wait.hpp"
#include "rubato/detail/siblings.hpp"
#include "rubato/detail/value_in_std.hpp"
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

/// Which was the first success, `.index`, and its `.value`: a variant, or, of a range, the value itself. void
/// becomes std::monostate, a reference std::reference_wrapper.
template<class Value>
using when_any_result = detail::any_result<Value>;

namespace detail {

template<class A>
inline constexpr bool is_some_future =
    is_future<std::remove_cvref_t<A>>::value || is_shared_future<std::remove_cvref_t<A>>::value;

template<class F>
void put_input(gathered& g, F&& f) {
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
  std::vector<gathered> grown;
  if constexpr (std::ranges::sized_range<Range>) grown.reserve(std::ranges::size(range));
  for (auto&& f : range) {
    grown.emplace_back();
    put_input(grown.back(), static_cast<element&>(f));
  }
  in.count = grown.size();
  in.all = std::make_unique<gathered[]>(in.count);
  std::ranges::move(grown, in.all.get());
  return in;
}

template<template<class> class State, class Inputs>
auto gather(Inputs in) {
  using type = State<Inputs>;
  using result = std::remove_cvref_t<decltype(std::declval<type&>().slot().take())>;
  auto* const made = make_state<type>(std::move(in));
  future<result> out = future_access::make<result>(state_ref(made));
  made->begin();
  return out;
}

template<class Range>
concept future_range = std::ranges::input_range<Range> && is_some_future<std::ranges::range_value_t<Range>>;

template<class... As>
concept one_range = sizeof...(As) == 1 && (std::ranges::input_range<As> && ...);

/// Can when_all() and when_any() take these? Says so where they cannot.
template<class... As>
[[nodiscard]] consteval bool can_be_gathered() {
  constexpr bool fit = (becomes_task<As> && ...);
  static_assert(fit, "rubato: when_all(a, b, ...) and when_any(a, b, ...): each must be a "
                     "future, a shared_future or something else that co_await takes; "
                     "std::move a task that has a name");
  return fit;
}
template<class Range>
[[nodiscard]] consteval bool can_be_gathered_of() {
  constexpr bool fit = becomes_task<std::ranges::range_value_t<Range>>;
  static_assert(fit,
                "rubato: when_all(range) and when_any(range): its elements must be futures, shared_futures "
                "or tasks, or else what co_await takes");
  return fit;
}

struct when_all_fn {
  /// The tuple of all values when all are there, std::monostate for void. The first failure in time asks all
  /// others to stop, on the thread that it happens on, and is thrown when what has begun has ended. A
  /// shared_future is neither stopped nor, after a failure, awaited: it has other owners. A promise sees the
  /// request in its token and is not awaited.
  ///
  /// Futures are passed as rvalues (an lvalue is moved from), shared futures are copied: the
  /// result is a future. If anything else is among them,
  /// such as a task, the result is to be awaited, and converts to a task: what is awaited are children of
  /// the coroutine that does, and stop with it. They are forks, as those of join(): the first begins on this
  /// thread, the others wherever a worker is free, else one after the other. None may block its thread for
  /// another; it may co_await it. Nothing is allocated beside the tasks' frames, unless one runs elsewhere.
  /// Of nothing: ready.
  template<class... As>
    requires(is_some_future<As> && ...)
  auto operator()(As&&... futures) const {
    if constexpr (sizeof...(As) == 0)
      return make_ready_future(std::tuple<>());
    else
      return gather<all_state>(inputs_of(std::forward<As>(futures)...));
  }
  template<class... As>
    requires(sizeof...(As) != 0 && !(is_some_future<As> && ...) && !one_range<As...>)
  auto operator()(As&&... awaitables) const {
    if constexpr (can_be_gathered<As...>())
      return all_tasks(as_member(std::forward<As>(awaitables))...);
    else
      return refused_as<std::tuple<decltype(static_cast<void>(awaitables), refused())...>>();
  }
  /// The vector of all values, std::monostate for void, std::reference_wrapper for references. The range's
  /// futures are moved from.
  template<future_range Range>
  auto operator()(Range&& range) const {
    return gather<all_state>(inputs_of_range(std::forward<Range>(range)));
  }
  template<std::ranges::input_range Range>
    requires(!future_range<Range>)
  auto operator()(Range&& range) const {
    if constexpr (can_be_gathered_of<Range>())
      return all_tasks_of_range(tasks_of(std::forward<Range>(range)));
    else
      return refused();
  }
};

struct when_any_fn {
  /// The first success, as a when_any_result; the others are asked to stop. If all fail, the last exception.
  /// What was registered with the losers' stop tokens runs in the thread that decides, inside the set_value()
  /// that brings the winner. Futures and everything else as with when_all; what is not a future has ended
  /// before the result is there.
  ///
  /// A receive(), send(), lock(), scoped_lock() or acquire() that is passed directly and loses has had no
  /// effect: no value is taken, no lock held. A when_any() of such operations alone throws cancelled if it is
  /// stopped. Tasks and futures that lose are asked to stop, and may have had effects.
  template<class... As>
    requires(sizeof...(As) != 0 && (is_some_future<As> && ...))
  auto operator()(As&&... futures) const {
    return gather<any_state>(inputs_of(std::forward<As>(futures)...));
  }
  template<class... As>
    requires(sizeof...(As) != 0 && !(is_some_future<As> && ...) && !one_range<As...>)
  auto operator()(As&&... awaitables) const {
    if constexpr (!can_be_gathered<As...>())
      return refused();
    else if constexpr ((one_step<As> && ...))
      return any_step<std::decay_t<As>...>(std::forward<As>(awaitables)...);
    else
      return any_of<decltype(as_part(std::forward<As>(awaitables)))...>(
          as_part(std::forward<As>(awaitables))...);
  }
  /// The same of a range, whose result holds the value itself. Throws std::invalid_argument if it is empty.
  template<future_range Range>
  auto operator()(Range&& range) const {
    auto in = inputs_of_range(std::forward<Range>(range));
    if (in.size() == 0) throw std::invalid_argument("rubato: when_any() of nothing would never be there");
    return gather<any_state>(std::move(in));
  }
  template<std::ranges::input_range Range>
    requires(!future_range<Range>)
  auto operator()(Range&& range) const {
    if constexpr (!can_be_gathered_of<Range>()) {
      return refused();
    } else if constexpr (one_step<std::ranges::range_value_t<Range>>) {
      auto steps = steps_of(std::forward<Range>(range));
      if (steps.empty()) throw std::invalid_argument("rubato: when_any() of nothing would never be there");
      return any_step_of(std::move(steps));
    } else {
      auto tasks = tasks_of(std::forward<Range>(range));
      if (tasks.empty()) throw std::invalid_argument("rubato: when_any() of nothing would never be there");
      return any_of_range(std::move(tasks));
    }
  }

private:
  template<class... Parts>
  static rubato::task<any_result<std::variant<storable<part_result<Parts>>...>>> any_of(Parts... parts) {
    stop_link around(&this_trampoline().running->scope());
    stop_scope limit(around);
    sibling_race race(sizeof...(Parts));
    std::tuple<Parts&...> const all_parts(parts...);
    auto all = begun(limit, race, all_parts, std::index_sequence_for<Parts...>());
    all.group.start_all();
    co_await race;
    limit.request_stop();
    co_await all.group.rest();
    std::size_t const winner = winner_of(race, all);
    co_return any_result<std::variant<storable<part_result<Parts>>...>>{
        winner, value<part_result<Parts>...>(all[winner], winner)};
  }
  /// A one-step operation takes part in the race itself.
  template<class... Parts, std::size_t... I>
  static siblings<sizeof...(Parts)> begun(stop_scope& limit, sibling_race& race,
                                          std::tuple<Parts&...> const& parts,
                                          std::index_sequence<I...> /*all*/) {
    return siblings<sizeof...(Parts)>(limit, &race, as_racer(std::move(std::get<I>(parts)), race, I)...);
  }
  template<class T>
  static rubato::task<any_result<storable<T>>> any_of_range(std::vector<rubato::task<T>> tasks) {
    stop_link around(&this_trampoline().running->scope());
    stop_scope limit(around);
    sibling_race race(tasks.size());
    sibling_range<T> all(limit, &race, std::move(tasks));
    all.group.start_all();
    co_await race;
    limit.request_stop();
    co_await all.group.rest();
    std::size_t const winner = winner_of(race, all);
    co_return any_result<storable<T>>{winner, all[winner].template result<T>().take()};
  }

  /// Throws the last failure if there is none.
  static std::size_t winner_of(sibling_race const& race, auto& all) {
    std::size_t const winner = race.winner() != sibling_race::none ? race.winner() : race.last_failed();
    if (std::exception_ptr const error = all[winner].error(); error != nullptr) std::rethrow_exception(error);
    return winner;
  }
  template<class... Ts>
  static std::variant<storable<Ts>...> value(sibling& of, std::size_t index) {
    return [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
      using type = std::variant<storable<Ts>...>;
      using function = type (*)(sibling&);
      static constexpr function table[] = {
          [](sibling& s) { return type(std::in_place_index<I>, s.template result<Ts>().take()); }...};
      return table[index](of);
    }(std::index_sequence_for<Ts...>());
  }
};

} // namespace detail

inline constexpr detail::when_all_fn when_all{};
inline constexpr detail::when_any_fn when_any{};

} // namespace rubato
