// The type that replaces a T inside std types.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>
#include <variant>

namespace rubato::detail {

/// std::monostate for void, std::reference_wrapper for a reference.
template<class T>
using value_in_std = std::conditional_t<
    std::is_void_v<T>, std::monostate,
    std::conditional_t<std::is_reference_v<T>, std::reference_wrapper<std::remove_reference_t<T>>, T>>;

/// A result as that type; of an rvalue reference, the object that it refers to.
template<class T, class V>
[[nodiscard]] constexpr value_in_std<T> in_std(V&& v) {
  if constexpr (std::is_reference_v<T>)
    return value_in_std<T>(v);
  else
    return std::forward<V>(v);
}

} // namespace rubato::detail
