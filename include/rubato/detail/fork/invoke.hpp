// Calls that are made of joins or like them: on a pool, with a context, of any number of callables.
#pragma once

#include "rubato/detail/fork/join_operator.hpp"

#include <tuple>
#include <utility>

namespace rubato::detail {

/// join(f, g) on the pool p.
template<class F, class G>
auto join_on(pool& p, F&& f, G&& g) {
  static_assert(fits<called_as<F>>, "rubato: join(pool, f, g): f must be callable as f()");
  static_assert(fits<called_as<G>>, "rubato: join(pool, f, g): g must be callable as g()");
  if constexpr (fits<called_as<F>> && fits<called_as<G>>)
    return on_pool(
        &p, [&](thread_context&) { return join_operator<>()(std::forward<F>(f), std::forward<G>(g)); });
  else
    return std::pair<refused, refused>();
}

template<class F>
auto call_with_context(pool* p, F&& f) -> brought_if_fits_t<called_as<F, context&>, context&> {
  using result = brought_if_fits_t<called_as<F, context&>, context&>;
  constexpr bool accepts = fits<called_as<F, context&>, context&>;
  static_assert(accepts, "rubato: with_context(f): f must be callable as f(context&)");
  if constexpr (!accepts)
    return {};
  else
    return static_cast<result>(
        on_pool(p, [&](thread_context& me) -> value_of<result> { return context_call::stayed<F>(f, me); }));
}

/// Forks the first callable from the rest.
template<class F, class... Rest>
auto invoke_here(F&& f, Rest&&... rest) {
  using first = value_of<plain_call::result<F>>;
  if constexpr (sizeof...(Rest) == 0) {
    if (current->core == nullptr)
      return on_pool(nullptr,
                     [&](thread_context& me) { return std::tuple<first>(plain_call::stayed<F>(f, me)); });
    return std::tuple<first>(plain_call::stayed<F>(f, *current));
  } else {
    auto halves =
        join_operator<>()(std::forward<F>(f), [&] { return invoke_here(std::forward<Rest>(rest)...); });
    return std::tuple_cat(std::tuple<first>(std::forward<first>(halves.first)), std::move(halves.second));
  }
}

template<class... Fs>
auto invoke_on(pool* p, Fs&&... fs) {
  constexpr bool accepts = (fits<called_as<Fs>> && ...);
  static_assert(accepts, "rubato: invoke(f, g, ...): each must be callable as f()");
  if constexpr (!accepts)
    return std::tuple<decltype(static_cast<void>(fs), refused())...>();
  else if (p == nullptr)
    return invoke_here(std::forward<Fs>(fs)...);
  else
    return on_pool(p, [&](thread_context&) { return invoke_here(std::forward<Fs>(fs)...); });
}

} // namespace rubato::detail
