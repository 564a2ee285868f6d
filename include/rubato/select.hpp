// select() performs one of several channel operations.
//
//   #include <rubato/select.hpp>
//   #include <rubato/spawn.hpp>
//
//   #include <cstdio>
//
//   rubato::task<int> next(rubato::channel<int>& jobs, rubato::channel<void>& quit) {
//     co_return co_await rubato::select(jobs.receiving([](std::optional<int> j) { return j.value_or(0); }),
//                                       quit.receiving([](auto) { return -1; }));
//   }
//
//   int main() {
//     rubato::channel<int> jobs(1);
//     rubato::channel<void> quit(1);
//     if (jobs.try_send(7)) std::printf("%d\n", rubato::block_on(next(jobs, quit))); // -> 7
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/channel.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/coro/race_wait.hpp"
#include "rubato/task.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

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

struct select_fn {
  /// Performs exactly one of a.receiving(f), b.receiving(g), c.sending(value, h) and so on: the one whose
  /// channel is ready first. Then it calls that operation's callable with the operation's result, and yields
  /// what the callable returns. All callables return the same type. The other operations have no effect. If
  /// several channels are ready at once, select() chooses among them in turn.
  ///
  ///     co_await rubato::select(jobs.receiving([&](std::optional<job> j) { ... }),
  ///                             quit.receiving([&](auto) { over = true; }));
  ///
  /// A value that is passed to sending() as an rvalue must live until select() has ended. If the awaiting
  /// task is stopped first, no operation happens, and select() throws cancelled. A wait takes one short
  /// critical section per channel, and a second one to leave it. Source: the alternative command of C. A. R.
  /// Hoare's CSP (1978).
  template<class... As, class... Fs>
    requires(sizeof...(As) != 0)
  [[nodiscard]] auto operator()(selected<As, Fs>... of) const {
    if constexpr (can_be_selected(std::type_identity<selected<As, Fs>>()...))
      return run<std::common_type_t<selected_result<As, Fs>...>>(std::move(of)...);
    else
      return refused();
  }

private:
  template<class Result, class... As, class... Fs>
  static rubato::task<Result> run(selected<As, Fs>... of) {
    racers<As...> all(std::move(of.step)...);
    std::size_t const first = next_turn() % all.count;
    std::size_t winner = all.find_ready(first);
    if (winner == all.none) {
      race_wait wait(all.waiters(), all.count, first);
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
  /// A mixed Weyl sequence: callers that alternate must not always get the same operation first. A lost
  /// update does no harm.
  [[nodiscard]] static std::size_t next_turn() noexcept {
    static constinit detail::relaxed<std::uint32_t> turn;
    std::uint32_t now = turn.get() + 0x9e37'79b9U;
    turn.set(now);
    now = (now ^ (now >> 16U)) * 0x7feb'352dU;
    now = (now ^ (now >> 15U)) * 0x846c'a68bU;
    return now ^ (now >> 16U);
  }
};

} // namespace detail

inline constexpr detail::select_fn select{};

} // namespace rubato
