// Which comparators mean the order that a type has by itself, so that its representation can be sorted
// instead.
#pragma once

#include "rubato/detail/algorithm/order/small_sort.hpp"

#include <bit>
#include <climits>
#include <concepts>
#include <functional>
#include <type_traits>

namespace rubato::detail {

enum class natural : unsigned char { no, ascending, descending };

template<class T, class Comp, class Proj>
inline constexpr natural order_named_by =
    !std::same_as<Proj, std::identity> ? natural::no
    : std::same_as<Comp, std::ranges::less> || std::same_as<Comp, std::less<>> ||
            std::same_as<Comp, std::less<T>>
        ? natural::ascending
    : std::same_as<Comp, std::ranges::greater> || std::same_as<Comp, std::greater<>> ||
            std::same_as<Comp, std::greater<T>>
        ? natural::descending
        : natural::no;

/// Numbers as unsigned integers whose order is theirs. Of floating-point numbers -0.0 comes before 0.0, and
/// NaNs come before or after all others, as their sign bit says.
template<class T, natural Order>
struct ordered_bits {
  using type = bits_of_size<sizeof(T)>;
  static constexpr type sign = static_cast<type>(type{1} << (sizeof(T) * CHAR_BIT - 1));
  static constexpr type all = static_cast<type>(~type{0});

  [[nodiscard]] static constexpr type of(T x) noexcept {
    auto b = std::bit_cast<type>(x);
    if constexpr (std::is_floating_point_v<T>)
      b = static_cast<type>(b ^ ((b & sign) != 0 ? all : sign));
    else if constexpr (std::is_signed_v<T>)
      b = static_cast<type>(b ^ sign);
    return Order == natural::descending ? static_cast<type>(~b) : b;
  }
  [[nodiscard]] static constexpr T from(type b) noexcept {
    if constexpr (Order == natural::descending) b = static_cast<type>(~b);
    if constexpr (std::is_floating_point_v<T>)
      b = static_cast<type>(b ^ ((b & sign) != 0 ? sign : all));
    else if constexpr (std::is_signed_v<T>)
      b = static_cast<type>(b ^ sign);
    return std::bit_cast<T>(b);
  }
};

/// Numbers that can be sorted as `ordered_bits`.
template<class T>
inline constexpr bool has_ordered_bits =
    std::is_arithmetic_v<T> && sizeof(T) <= 8 && std::has_single_bit(sizeof(T));

} // namespace rubato::detail
