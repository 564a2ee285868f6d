// The least or the greatest of many numbers, and its place: first the value, which vectorises, then the place
// within the block in which it is.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

namespace rubato::detail {

/// A comparator that compares numbers as < or > does: 1 or -1. Any other one: 0.
template<class Comp, class T>
inline constexpr int direction_of =
    std::is_same_v<Comp, std::ranges::less> || std::is_same_v<Comp, std::less<>> ||
            std::is_same_v<Comp, std::less<T>>
        ? 1
    : std::is_same_v<Comp, std::ranges::greater> || std::is_same_v<Comp, std::greater<>> ||
            std::is_same_v<Comp, std::greater<T>>
        ? -1
        : 0;

/// x < y, or x > y.
template<int Direction, class T>
constexpr auto comes_before(T const& x, T const& y) {
  if constexpr (Direction > 0)
    return x < y;
  else
    return y < x;
}

/// Numbers for which the baseline of x86-64 has comparisons of vectors.
template<class T>
inline constexpr bool is_compared_in_vectors =
    std::is_same_v<T, float> || std::is_same_v<T, double> ||
    (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 4);

/// The one of n numbers that comes before all others, n >= 1. Of NaNs and others: one of them.
template<int Direction, class T>
T extreme_by_lanes(T const* p, std::uint64_t n) {
  T a = p[0], b = a; // two chains
  std::uint64_t i = 1;
  for (; i + 2 <= n; i += 2) {
    a = detail::comes_before<Direction>(p[i], a) ? p[i] : a;
    b = detail::comes_before<Direction>(p[i + 1], b) ? p[i + 1] : b;
  }
  if (i != n) a = detail::comes_before<Direction>(p[i], a) ? p[i] : a;
  return detail::comes_before<Direction>(b, a) ? b : a;
}

/// Four vectors side by side. Their type is the compilers' own: g++ vectorises no other form of this loop at
/// -O2, and no minimum of floating-point numbers at all.
template<int Direction, class T>
T extreme_by_vectors(T const* p, std::uint64_t n) {
  using vector [[gnu::vector_size(16)]] = T;
  constexpr std::uint64_t lanes = 16 / sizeof(T), step = 4 * lanes;
  if (n < step) return detail::extreme_by_lanes<Direction>(p, n);
  vector least[4];
  std::memcpy(least, p, sizeof(least));
  std::uint64_t i = step;
  for (; i + step <= n; i += step) {
    vector next[4];
    std::memcpy(next, p + i, sizeof(next));
    for (int k = 0; k != 4; ++k)
      least[k] = detail::comes_before<Direction>(next[k], least[k]) ? next[k] : least[k];
  }
  std::array<T, step> all;
  std::memcpy(all.data(), least, sizeof(least));
  T const best = detail::extreme_by_lanes<Direction>(all.data(), step);
  if (i == n) return best;
  T const rest = detail::extreme_by_lanes<Direction>(p + i, n - i);
  return detail::comes_before<Direction>(rest, best) ? rest : best;
}

template<int Direction, class T>
T extreme_value(T const* p, std::uint64_t n) {
  if constexpr (is_compared_in_vectors<T>)
    return detail::extreme_by_vectors<Direction>(p, n);
  else
    return detail::extreme_by_lanes<Direction>(p, n);
}

/// The place of the first or, if `Last`, the last of the numbers before which none comes. Source: see
/// min_element() in docs/design/algorithms.md.
template<int Direction, bool Last, class T>
std::uint64_t extreme_place(T const* p, std::uint64_t lo, std::uint64_t hi) {
  constexpr std::uint64_t block = 1024;
  std::uint64_t at = lo;
  T best = p[lo];
  for (std::uint64_t i = lo; i < hi; i += block) {
    T const v = detail::extreme_value<Direction>(p + i, hi - i < block ? hi - i : block);
    if (Last ? detail::comes_before<Direction>(best, v) : !detail::comes_before<Direction>(v, best)) continue;
    best = v;
    at = i;
  }
  std::uint64_t const end = hi - at < block ? hi : at + block;
  if constexpr (Last) {
    for (std::uint64_t i = end; i != at; --i)
      if (p[i - 1] == best) return i - 1;
  } else {
    for (std::uint64_t i = at; i != end; ++i)
      if (p[i] == best) return i;
  }
  return at; // the value is a NaN
}

} // namespace rubato::detail
