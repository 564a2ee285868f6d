// How a callable is called and how it is kept until then.
#pragma once

#include "rubato/detail/fits.hpp"
#include "rubato/detail/invoke.hpp"
#include "rubato/detail/member.hpp"
#include "rubato/detail/result.hpp"

#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// A callable gets a stop token first if, and only if, it is invocable with one there.
template<class F, class... Args>
inline constexpr bool wants_token = std::is_invocable_v<F, std::stop_token, Args...>;

/// How a callable that was passed as an F&& is called, once: as an lvalue if it can be, else as an rvalue.
template<class F, class... Args>
using called_as = std::conditional_t<std::is_invocable_v<F&, Args...> || wants_token<F&, Args...>, F&, F&&>;

template<class F, class... Args>
[[gnu::always_inline]] inline decltype(auto) call(member& me, F&& f, Args&&... args) {
  if constexpr (wants_token<F, Args...>) {
    return invoke_value(std::forward<F>(f), current_token(me), std::forward<Args>(args)...);
  } else {
    return invoke_value(std::forward<F>(f), std::forward<Args>(args)...);
  }
}

template<class F, class... Args>
struct call_result {
  using type = std::invoke_result_t<F, Args...>;
};
template<class F, class... Args>
  requires wants_token<F, Args...>
struct call_result<F, Args...> {
  using type = std::invoke_result_t<F, std::stop_token, Args...>;
};
template<class F, class... Args>
using call_result_t = typename call_result<F, Args...>::type;

/// A borrowed callable. A small temporary that can be copied for nothing is copied: then its captures need
/// not live in memory, and a fork that is not taken keeps them in registers.
template<class F>
[[nodiscard]] consteval bool is_held_by_value() {
  if constexpr (std::is_reference_v<F>)
    return false;
  else
    return std::is_trivially_copyable_v<F> && std::is_copy_constructible_v<F> &&
           sizeof(F) <= 2 * sizeof(void*);
}

template<class F, bool = is_held_by_value<F>()>
struct held {
  F f;
  [[gnu::always_inline]] explicit held(F& from) noexcept
      : f(from) {}
  [[gnu::always_inline]] F& get() noexcept { return f; }
};
template<class F>
struct held<F, false> {
  std::remove_reference_t<F>* f;
  [[gnu::always_inline]] explicit held(std::remove_reference_t<F>& from) noexcept
      : f(std::addressof(from)) {}
  [[gnu::always_inline]] std::remove_reference_t<F>& get() noexcept { return *f; }
};

/// Calls `f(member&)` on the calling thread as a member of a pool and returns its result.
template<class F>
auto on_pool(pool* p, F&& f) -> value_of<std::invoke_result_t<F&, member&>> {
  struct frame {
    F& f;
    result_slot<std::invoke_result_t<F&, member&>> result;
  } state{f, {}};
  run_as_member(
      p,
      [](void* arg, member& me) {
        auto& s = *static_cast<frame*>(arg);
        s.result.fill([&]() -> std::invoke_result_t<F&, member&> { return invoke_any(s.f, me); });
      },
      &state);
  return state.result.take();
}

} // namespace rubato::detail
