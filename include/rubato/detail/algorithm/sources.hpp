// Where the terms of a sum come from: the elements of one range, or the pairs of two, through a map.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>

namespace rubato::detail {

/// Sixteen bytes of numbers, which every x86-64 and 64-bit ARM processor adds at once.
template<class T>
using lanes [[gnu::vector_size(16)]] = T;

template<class T>
inline constexpr std::uint64_t lane_count = 16 / sizeof(T);

/// A number that fits a lane. Integers are unsigned there: partial sums that a serial loop does not have may
/// overflow.
template<class T>
concept lane_number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8 &&
                      !std::is_same_v<std::remove_cv_t<T>, T const>;

template<class T>
struct lane_of {
  using type = T;
};
template<std::integral T>
struct lane_of<T> {
  using type = std::make_unsigned_t<T>;
};
template<class T>
using lane_of_t = typename lane_of<T>::type;

template<class T>
[[gnu::always_inline]] inline lanes<lane_of_t<T>> load_lanes(T const* from) noexcept {
  lanes<lane_of_t<T>> loaded;
  std::memcpy(&loaded, from, sizeof loaded);
  return loaded;
}

/// The operators of <functional> that a processor has for lanes of T, and which it may call in any order: as
/// they are for any type. Void: Op is none of them.
template<class Op, class T>
struct lane_operator {
  using type = void;
};
template<class Op, class T>
  requires std::same_as<Op, std::plus<>> || std::same_as<Op, std::plus<T>>
struct lane_operator<Op, T> {
  using type = std::plus<>;
};
template<class Op, class T>
  requires std::same_as<Op, std::multiplies<>> || std::same_as<Op, std::multiplies<T>>
struct lane_operator<Op, T> {
  using type = std::multiplies<>;
};
template<class Op, std::integral T>
  requires std::same_as<Op, std::bit_and<>> || std::same_as<Op, std::bit_and<T>>
struct lane_operator<Op, T> {
  using type = std::bit_and<>;
};
template<class Op, std::integral T>
  requires std::same_as<Op, std::bit_or<>> || std::same_as<Op, std::bit_or<T>>
struct lane_operator<Op, T> {
  using type = std::bit_or<>;
};
template<class Op, std::integral T>
  requires std::same_as<Op, std::bit_xor<>> || std::same_as<Op, std::bit_xor<T>>
struct lane_operator<Op, T> {
  using type = std::bit_xor<>;
};
template<class Op, class T>
using lane_operator_t = typename lane_operator<Op, T>::type;
template<class Op, class T>
inline constexpr bool has_lanes = lane_number<T> && !std::is_void_v<lane_operator_t<Op, T>>;

/// What a term is read through: a pointer, where the elements are contiguous.
template<class I>
[[nodiscard]] auto as_pointer(I first, std::uint64_t n) {
  if constexpr (std::contiguous_iterator<I>)
    return n == 0 ? nullptr : std::to_address(first);
  else
    return first;
}

/// The result of map for elements that an iterator gives. A reference into an element that lives no longer
/// than the call becomes a value.
template<class Map, class... References>
struct term {
  using result = std::invoke_result_t<Map const&, References...>;
  using type =
      std::conditional_t<std::is_rvalue_reference_v<result> && !(std::is_reference_v<References> && ...),
                         std::remove_cvref_t<result>, result>;
};
template<class Map, class... Iterators>
using term_t = typename term<Map, std::iter_reference_t<Iterators>...>::type;

/// The terms map(x) of one range. `I` has random access.
template<class I, class Map>
struct mapped_range {
  I first;
  Map const& map;

  using element = std::remove_cvref_t<std::iter_reference_t<I>>;
  using difference = std::iter_difference_t<I>;
  static constexpr bool contiguous = std::is_pointer_v<I>;
  /// True if T is what a lane holds of each term.
  template<class T>
  static constexpr bool lanes_of = contiguous && std::same_as<element, T> && std::same_as<Map, std::identity>;
  static constexpr bool numbers = contiguous && std::is_arithmetic_v<element>;
  static constexpr bool plain_map = std::same_as<Map, std::identity>;

  [[gnu::always_inline]] term_t<Map, I> operator()(std::uint64_t i) const {
    return std::invoke(map, *(first + static_cast<difference>(i)));
  }
  [[gnu::always_inline]] auto load(std::uint64_t i) const noexcept { return detail::load_lanes(first + i); }

  /// Steps from term to term, which is cheaper than an index where iterators are more than pointers.
  struct cursor {
    I at;
    Map const& map;
    [[gnu::always_inline]] term_t<Map, I> operator*() const { return std::invoke(map, *at); }
    [[gnu::always_inline]] void next() { ++at; }
  };
  [[nodiscard]] cursor from(std::uint64_t i) const { return {first + static_cast<difference>(i), map}; }
};

/// The terms map(x, y) of two ranges.
template<class I, class J, class Map>
struct mapped_pairs {
  I first;
  J second;
  Map const& map;

  using element = std::remove_cvref_t<std::iter_reference_t<I>>;
  using partner = std::remove_cvref_t<std::iter_reference_t<J>>;
  static constexpr bool contiguous = std::is_pointer_v<I> && std::is_pointer_v<J>;
  template<class T>
  static constexpr bool lanes_of =
      contiguous && std::same_as<element, T> && std::same_as<partner, T> && has_lanes<Map, T>;
  static constexpr bool numbers =
      contiguous && std::is_arithmetic_v<element> && std::is_arithmetic_v<partner>;
  static constexpr bool plain_map = has_lanes<Map, element>;

  [[gnu::always_inline]] term_t<Map, I, J> operator()(std::uint64_t i) const {
    return std::invoke(map, *(first + static_cast<std::iter_difference_t<I>>(i)),
                       *(second + static_cast<std::iter_difference_t<J>>(i)));
  }
  [[gnu::always_inline]] auto load(std::uint64_t i) const noexcept {
    return lane_operator_t<Map, element>()(detail::load_lanes(first + i), detail::load_lanes(second + i));
  }

  struct cursor {
    I at;
    J beside;
    Map const& map;
    [[gnu::always_inline]] term_t<Map, I, J> operator*() const { return std::invoke(map, *at, *beside); }
    [[gnu::always_inline]] void next() {
      ++at;
      ++beside;
    }
  };
  [[nodiscard]] cursor from(std::uint64_t i) const {
    return {first + static_cast<std::iter_difference_t<I>>(i),
            second + static_cast<std::iter_difference_t<J>>(i), map};
  }
};

template<class I, class Map>
[[nodiscard]] auto terms_of(I first, std::uint64_t n, Map const& map) {
  auto const at = detail::as_pointer(first, n);
  return mapped_range<std::remove_const_t<decltype(at)>, Map>{at, map};
}
template<class I, class J, class Map>
[[nodiscard]] auto terms_of(I first, J second, std::uint64_t n, Map const& map) {
  auto const at = detail::as_pointer(first, n);
  auto const beside = detail::as_pointer(second, n);
  return mapped_pairs<std::remove_const_t<decltype(at)>, std::remove_const_t<decltype(beside)>, Map>{
      at, beside, map};
}

/// True if a call of Op takes a few nanoseconds and cannot tell the thread that makes it: an operator on
/// numbers, without state, of numbers that are contiguous. Such a sum needs a pool only if it is long.
template<class Source, class T, class Op>
inline constexpr bool is_brief =
    Source::numbers && Source::plain_map && std::is_arithmetic_v<T> && std::is_empty_v<Op>;

} // namespace rubato::detail
