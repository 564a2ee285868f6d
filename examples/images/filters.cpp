#include "filters.hpp"

#include <rubato/algorithm.hpp>

#include <algorithm>

namespace images {
namespace {

template<class F>
void for_rows(const picture& of, F f) {
  rubato::for_index(std::size_t{0}, of.height, f);
}

/// Means of 2 * radius + 1 neighbours along a line of n bytes, `step` apart, by a sum that follows the line.
void blur_line(const std::uint8_t* from, std::uint8_t* to, std::size_t n, std::size_t step,
               std::size_t radius) {
  const auto at = [&](std::size_t i) { return std::uint32_t{from[std::min(i, n - 1) * step]}; };
  const auto width = static_cast<std::uint32_t>(2 * radius + 1);
  std::uint32_t sum = static_cast<std::uint32_t>(radius + 1) * at(0);
  for (std::size_t i = 1; i <= radius; ++i) sum += at(i);
  for (std::size_t i = 0; i != n; ++i) {
    to[i * step] = static_cast<std::uint8_t>((sum + width / 2) / width);
    sum += at(i + radius + 1);
    sum -= at(i < radius ? 0 : i - radius);
  }
}

/// Where a part of a line ends, if n parts share m points: never before it begins.
std::size_t border(std::size_t i, std::size_t n, std::size_t m) { return i * m / n; }

} // namespace

picture blurred(const picture& from, std::size_t radius) {
  if (radius == 0 || from.bytes.empty()) return from;
  picture across(from.width, from.height), made(from.width, from.height);
  for_rows(from, [&](std::size_t y) {
    for (std::size_t colour = 0; colour != 3; ++colour)
      blur_line(from.row(y).data() + colour, across.row(y).data() + colour, from.width, 3, radius);
  });
  rubato::for_index(std::size_t{0}, 3 * from.width, [&](std::size_t x) {
    blur_line(across.bytes.data() + x, made.bytes.data() + x, from.height, 3 * from.width, radius);
  });
  return made;
}

picture scaled(const picture& from, std::size_t width) {
  if (from.bytes.empty()) return from;
  picture made(width, std::max<std::size_t>(1, from.height * width / from.width));
  for_rows(made, [&](std::size_t y) {
    const std::size_t top = border(y, made.height, from.height);
    const std::size_t bottom = std::max(top + 1, border(y + 1, made.height, from.height));
    const auto line = made.row(y);
    for (std::size_t x = 0; x != made.width; ++x) {
      const std::size_t left = border(x, made.width, from.width);
      const std::size_t right = std::max(left + 1, border(x + 1, made.width, from.width));
      const std::size_t points = (bottom - top) * (right - left);
      for (std::size_t colour = 0; colour != 3; ++colour) {
        std::size_t sum = points / 2;
        for (std::size_t v = top; v != bottom; ++v)
          for (std::size_t u = left; u != right; ++u) sum += from.row(v)[3 * u + colour];
        line[3 * x + colour] = static_cast<std::uint8_t>(sum / points);
      }
    }
  });
  return made;
}

} // namespace images
