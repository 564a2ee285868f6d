// The type that replaces a T inside std types.
#pragma once

#include <functional>
#include <type_traits>
#include <variant>

namespace rubato::detail {

/// std::monostate for void, std::reference_wrapper for a reference.
template<class T>
using value_in_std = std::conditional_t<
    std::is_void_v<T>, std::monostate,
    std::conditional_t<std::is_reference_v<T>, std::reference_wrapper<std::remove_reference_t<T>>, T>>;

} // namespace rubato::detail
