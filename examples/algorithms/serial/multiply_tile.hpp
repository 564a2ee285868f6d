// What one thread does in a product of matrices: a tile of the result.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace algorithms {

/// Row after row.
class matrix {
  std::size_t rows_, columns_;
  std::vector<float> values_;

public:
  matrix(std::size_t rows, std::size_t columns)
      : rows_(rows)
      , columns_(columns)
      , values_(rows * columns) {}

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  float* row(std::size_t r) { return values_.data() + r * columns_; }
  const float* row(std::size_t r) const { return values_.data() + r * columns_; }
  bool operator==(const matrix&) const = default;
};

/// A matrix of zeros for the product. Throws std::invalid_argument if a has not as many columns as b has
/// rows.
inline matrix room_for_product(const matrix& a, const matrix& b) {
  if (a.columns() != b.rows()) throw std::invalid_argument("these matrices have no product");
  return {a.rows(), b.columns()};
}

/// out[j] += row[k] * b[k][j] for `columns` columns and [k, k_end): four rows of b at a time, so that a value
/// of `out` is loaded and stored once for four products.
inline void add_products(float* out, const float* row, const matrix& b, std::size_t k, std::size_t k_end,
                         std::size_t column, std::size_t columns) {
  for (; k + 4 <= k_end; k += 4) {
    const float x0 = row[k], x1 = row[k + 1], x2 = row[k + 2], x3 = row[k + 3];
    const float* const b0 = b.row(k) + column;
    const float* const b1 = b.row(k + 1) + column;
    const float* const b2 = b.row(k + 2) + column;
    const float* const b3 = b.row(k + 3) + column;
    for (std::size_t j = 0; j != columns; ++j)
      out[j] += (x0 * b0[j] + x1 * b1[j]) + (x2 * b2[j] + x3 * b3[j]);
  }
  for (; k != k_end; ++k) {
    const float* const bk = b.row(k) + column;
    for (std::size_t j = 0; j != columns; ++j) out[j] += row[k] * bk[j];
  }
}

/// Adds to the rows [r0, r1) and columns [c0, c1) of c those of a * b, in blocks of b of 16 KB, which stay in
/// the L1 cache. The order of the additions to a value does not depend on the tile.
inline void multiply_tile(const matrix& a, const matrix& b, matrix& c, std::size_t r0, std::size_t r1,
                          std::size_t c0, std::size_t c1) {
  constexpr std::size_t width = 128, depth = 32;
  for (std::size_t j = c0; j < c1; j += width)
    for (std::size_t k = 0; k < a.columns(); k += depth)
      for (std::size_t r = r0; r != r1; ++r)
        add_products(c.row(r) + j, a.row(r), b, k, std::min(k + depth, a.columns()), j,
                     std::min(width, c1 - j));
}

} // namespace algorithms
