// Does a callable fit where it was passed? A static_assert says so in one sentence where it does not.
//
// What is deduced from a refused callable stops there: the function that was called has no further errors
// below it, and returns a `refused`.
#pragma once

#include <stop_token>
#include <type_traits>

namespace rubato::detail {

/// Can F be called with these, as the library calls it: with a stop token before them, or without one?
template<class F, class... Args>
inline constexpr bool fits =
    std::is_invocable_v<F, std::stop_token, Args...> || std::is_invocable_v<F, Args...>;

/// Can what was passed as an F&& be kept: moved, or copied, to where the call will be?
template<class... Fs>
inline constexpr bool can_be_kept = (std::is_constructible_v<std::decay_t<Fs>, Fs> && ...);

/// Can F be called with these, just so, and To be made of what it returns?
template<class F, class To, class... Args>
concept gives =
    std::is_invocable_v<F, Args...> && std::is_constructible_v<To, std::invoke_result_t<F, Args...>>;

/// The result of a call that does not compile. It stands where a result would, so that the compiler finds
/// nothing more to say.
struct refused {
  template<class T>
  operator T() const;
  refused get() const;
  bool await_ready() const;
  void await_suspend(auto) const;
  refused await_resume() const;
};
/// The same where the result would be a T.
template<class T>
struct refused_as : refused {
  T get() const;
  T await_resume() const;
};

} // namespace rubato::detail
