// Ranges that a socket can send or fill.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <type_traits>

namespace rubato::detail {

template<class T>
concept byte_like = std::same_as<std::remove_cv_t<T>, std::byte> || std::same_as<std::remove_cv_t<T>, char> ||
                    std::same_as<std::remove_cv_t<T>, unsigned char>;

template<class R>
concept bytes = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                byte_like<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

} // namespace rubato::detail
