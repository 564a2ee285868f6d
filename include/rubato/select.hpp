// Performs one of several channel operations.
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
#include "rubato/detail/async_sync/selection.hpp"

#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

struct select_fn {
  /// Performs exactly one of a.receiving(f), b.receiving(g), c.sending(value, h) and so on: the one whose
  /// channel is ready first. Then it calls that operation's callable with the operation's result, and yields
  /// what the callable returns. All callables return the same type. The other operations have no effect. If
  /// several channels are ready at once, select() chooses among them in turn.
  ///
  ///     co_await rubato::select(jobs.receiving([&](std::optional<job> j) { ... }),
  ///                             quit.receiving([&](auto) { over = true; }));
  ///
  /// A value that is passed to sending() as an rvalue must live until select() has ended. It may be offered
  /// to several channels, of which one gets it. If the awaiting task is stopped first, no operation happens,
  /// and select() throws cancelled. A wait takes one short critical section per channel, and a second one to
  /// leave it. Source: the alternative command of C. A. R. Hoare's CSP (1978).
  template<class... As, class... Fs>
    requires(sizeof...(As) != 0)
  [[nodiscard]] auto operator()(selected<As, Fs>... of) const {
    if constexpr (can_be_selected(std::type_identity<selected<As, Fs>>()...))
      return select_one<std::common_type_t<selected_result<As, Fs>...>>(std::move(of)...);
    else
      return refused();
  }
  template<class... Other>
    requires(sizeof...(Other) != 0 && !(is_selected<std::remove_cvref_t<Other>> && ...))
  auto operator()(Other&&... /*of*/) const {
    static_assert(
        (is_selected<std::remove_cvref_t<Other>> && ...),
        "rubato: select(a, b, ...): each must be channel.receiving(f) or channel.sending(value, f)");
    return refused();
  }
};

} // namespace detail

inline constexpr detail::select_fn select{};

} // namespace rubato
