// The product of two matrices, tile by tile of the result.
#pragma once

#include "serial/multiply_tile.hpp"

#include <rubato/algorithm.hpp>

#include <algorithm>
#include <cstddef>

namespace algorithms {

/// a * b, with the same bits for any number of workers. Throws std::invalid_argument if a has not as many
/// columns as b has rows.
inline matrix multiply(const matrix& a, const matrix& b) {
  matrix c = room_for_product(a, b);
  // In units of 64 x 128 values: smaller tiles would load more of a and b for each value.
  constexpr std::size_t high = 64, wide = 128;
  rubato::for_tile((c.rows() + high - 1) / high, (c.columns() + wide - 1) / wide,
                   [&](std::size_t r0, std::size_t r1, std::size_t c0, std::size_t c1) {
                     multiply_tile(a, b, c, r0 * high, std::min(r1 * high, c.rows()), c0 * wide,
                                   std::min(c1 * wide, c.columns()));
                   });
  return c;
}

} // namespace algorithms
