// What select() does: it finds a channel that is ready, or waits in a race. docs/design/races.md
#pragma once

#include "rubato/detail/async_sync/channel_operations.hpp"
#include "rubato/detail/coro/race_wait.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>

namespace rubato::detail {

/// The result of a callable that is called with the result of its operation.
template<class A, class F>
using selected_result = std::invoke_result_t<F&, awaited_t<A>>;

/// True if each callable accepts the result of its operation and all return the same type; otherwise an
/// assertion fails with a message.
template<class... As, class... Fs>
[[nodiscard]] consteval bool can_be_selected(std::type_identity<selected<As, Fs>>... /*of*/) {
  constexpr bool called = (std::is_invocable_v<Fs&, awaited_t<As>> && ...);
  static_assert(called, "rubato: select(c.receiving(f), d.sending(value, g), ...): f must be callable as "
                        "f(std::optional<value>), as receive() yields it, and g as g(bool)");
  if constexpr (called) {
    using first = std::tuple_element_t<0, std::tuple<std::type_identity<selected_result<As, Fs>>...>>;
    constexpr bool same = (std::is_same_v<typename first::type, selected_result<As, Fs>> && ...);
    static_assert(same, "rubato: the callables of a select() return the same type");
    return same;
  } else {
    return false;
  }
}

template<class Result, class... As, class... Fs>
rubato::task<Result> select_one(selected<As, Fs>... of) {
  co_await ready_wait(); // before one of them takes effect
  racers<As...> all(std::move(of.step)...);
  std::size_t const first = next_turn() % all.number;
  std::size_t winner = all.find_ready(first);
  if (winner == all.none) {
    race_wait wait(all.waiters(), all.number, first);
    winner = co_await wait;
  }
  std::tuple<Fs&...> const called(of.called...);
  if constexpr (std::is_void_v<Result>) {
    all.with(winner, [&]<std::size_t I>(auto& a) { std::invoke(std::get<I>(called), a.await_resume()); });
  } else {
    std::optional<value_in_std<Result>> made;
    all.with(winner, [&]<std::size_t I>(auto& a) {
      made.emplace(std::invoke(std::get<I>(called), a.await_resume()));
    });
    co_return static_cast<Result>(*std::move(made));
  }
}

} // namespace rubato::detail
