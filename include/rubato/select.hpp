// One of several operations on channels.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/channel.hpp"
#include "rubato/detail/race_wait.hpp"
#include "rubato/task.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

/// What the callable is called with yields it, and what it returns.
template<class A, class F>
using selected_result = std::invoke_result_t<F, awaited_t<A>>;

struct select_fn {
  /// Of a.receiving(f), b.receiving(g), c.sending(value, h) and so on exactly one happens, on the channel
  /// that is ready first; then its callable is called with what the operation yields, and what that returns
  /// is the result: of all the same type. The others have no effect. Where several are ready at once each has
  /// its turn.
  ///
  ///     co_await rubato::select(jobs.receiving([&](std::optional<job> j) { ... }),
  ///                             quit.receiving([&](auto) { over = true; }));
  ///
  /// A value that is passed as an rvalue must last until then. If the awaiting task is stopped, nothing
  /// happens and cancelled is thrown.
  template<class... As, class... Fs>
    requires(sizeof...(As) != 0)
  [[nodiscard]] auto operator()(selected<As, Fs>... of) const {
    using result = std::common_type_t<selected_result<As, Fs>...>;
    static_assert((std::is_same_v<result, selected_result<As, Fs>> && ...),
                  "rubato: the callables of a select() return the same type");
    return run<result>(std::move(of)...);
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
      std::optional<storable<Result>> made;
      all.with(winner, [&]<std::size_t I>(auto& a) {
        made.emplace(std::invoke(std::get<I>(called), a.await_resume()));
      });
      co_return static_cast<Result>(*std::move(made));
    }
  }
  /// A Weyl sequence, mixed: callers that take turns must not always get the same one. relaxed, and not
  /// exact.
  [[nodiscard]] static std::size_t next_turn() noexcept {
    static constinit std::atomic<std::uint32_t> turn{0};
    std::uint32_t now = turn.load(std::memory_order_relaxed) + 0x9e37'79b9U;
    turn.store(now, std::memory_order_relaxed);
    now = (now ^ (now >> 16U)) * 0x7feb'352dU;
    now = (now ^ (now >> 15U)) * 0x846c'a68bU;
    return now ^ (now >> 16U);
  }
};

} // namespace detail

inline constexpr detail::select_fn select{};

} // namespace rubato
