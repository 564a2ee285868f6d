// What stands for a T inside std types.
#pragma once

#include <functional>
#include <type_traits>
#include <variant>

namespace rubato::detail {

/// void has no values, and std types hold no references.
template<class T>
using value_in_std = std::conditional_t<
    std::is_void_v<T>, std::monostate,
    std::conditional_t<std::is_reference_v<T>, std::reference_wrapper<std::remove_reference_t<T>>, T>>;
template<class T>
using storable = value_in_std<T>;

} // namespace rubato::detail
