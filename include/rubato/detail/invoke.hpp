// std::invoke, for headers that need nothing else of <functional>.
#pragma once

#include <type_traits>
#include <utility>

namespace rubato::detail {

/// What a pointer to member of C is applied to: the object that x is, points to or, as a
/// std::reference_wrapper, refers to.
template<class T, class C, class X>
[[gnu::always_inline]] constexpr decltype(auto) object_for(T C::* /*pointer*/, X&& x) {
  if constexpr (std::is_base_of_v<C, std::remove_cvref_t<X>>)
    return std::forward<X>(x);
  else if constexpr (requires { *std::forward<X>(x); })
    return *std::forward<X>(x);
  else
    return x.get();
}

template<class M, class X, class... Args>
[[gnu::always_inline]] constexpr decltype(auto) invoke_member(M pointer, X&& x, Args&&... args) {
  if constexpr (std::is_member_object_pointer_v<M>)
    return (object_for(pointer, std::forward<X>(x)).*pointer);
  else
    return (object_for(pointer, std::forward<X>(x)).*pointer)(std::forward<Args>(args)...);
}

template<class F, class... Args>
[[gnu::always_inline]] constexpr std::invoke_result_t<F, Args...> invoke_any(F&& f, Args&&... args) {
  if constexpr (std::is_member_pointer_v<std::remove_cvref_t<F>>)
    return invoke_member(f, std::forward<Args>(args)...);
  else
    return std::forward<F>(f)(std::forward<Args>(args)...);
}

} // namespace rubato::detail
