#include "generate.hpp"

#include <cmath>

namespace images {

picture generated(std::size_t number, std::size_t width, std::size_t height) {
  picture made(width, height);
  std::uint32_t grain = static_cast<std::uint32_t>(number) * 2'654'435'761U + 1;
  const double middle_x = static_cast<double>(width) * std::fmod(static_cast<double>(number) * 0.618, 1);
  const double middle_y = static_cast<double>(height) * std::fmod(static_cast<double>(number) * 0.414, 1);
  for (std::size_t y = 0; y != height; ++y)
    for (std::size_t x = 0; x != width; ++x) {
      const double far = std::hypot(static_cast<double>(x) - middle_x, static_cast<double>(y) - middle_y);
      for (std::size_t colour = 0; colour != 3; ++colour) {
        grain = grain * 1'664'525U + 1'013'904'223U;
        const double light = 120 + 100 * std::sin(far / (10 + 7 * static_cast<double>(colour)));
        made.row(y)[3 * x + colour] = static_cast<std::uint8_t>(light + (grain >> 28));
      }
    }
  return made;
}

} // namespace images
