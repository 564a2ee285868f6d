// A picture, in memory and as PNG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace images {

struct picture {
  std::size_t width = 0, height = 0;
  std::vector<std::uint8_t> bytes; ///< red, green and blue of each point, row by row

  picture() = default;
  picture(std::size_t columns, std::size_t rows)
      : width(columns)
      , height(rows)
      , bytes(3 * columns * rows) {}
  std::span<std::uint8_t> row(std::size_t y) { return {bytes.data() + 3 * width * y, 3 * width}; }
  std::span<const std::uint8_t> row(std::size_t y) const { return {bytes.data() + 3 * width * y, 3 * width}; }
};

using file_bytes = std::vector<std::uint8_t>;

/// Both throw std::runtime_error with what libpng says.
picture decode_png(const file_bytes& file);
file_bytes encode_png(const picture& from);

} // namespace images
