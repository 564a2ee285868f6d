// The product of two matrices: the result is halved along its longer side, down to tiles.
#pragma once

#include "serial/multiply_tile.hpp"

#include <rubato/join.hpp>

#include <cstddef>

namespace algorithms {

namespace detail {

/// A smaller tile would load more of a and b for each of its values.
inline constexpr std::size_t tile = 128;

inline void multiply_in_halves(const matrix& a, const matrix& b, matrix& c, std::size_t r0, std::size_t r1,
                               std::size_t c0, std::size_t c1) {
  if (r1 - r0 <= tile && c1 - c0 <= tile) return multiply_tile(a, b, c, r0, r1, c0, c1);
  if (r1 - r0 >= c1 - c0) {
    const std::size_t middle = r0 + (r1 - r0) / 2;
    rubato::join([&] { multiply_in_halves(a, b, c, r0, middle, c0, c1); },
                 [&] { multiply_in_halves(a, b, c, middle, r1, c0, c1); });
  } else {
    const std::size_t middle = c0 + (c1 - c0) / 2;
    rubato::join([&] { multiply_in_halves(a, b, c, r0, r1, c0, middle); },
                 [&] { multiply_in_halves(a, b, c, r0, r1, middle, c1); });
  }
}

} // namespace detail

/// a * b, with the same bits for any number of workers. Throws std::invalid_argument if a has not as many
/// columns as b has rows.
inline matrix multiply(const matrix& a, const matrix& b) {
  matrix c = room_for_product(a, b);
  detail::multiply_in_halves(a, b, c, 0, c.rows(), 0, c.columns());
  return c;
}

} // namespace algorithms
