#include "world.hpp"

#include <algorithm>
#include <bit>

namespace frames {
namespace {

std::uint64_t mixed(std::uint64_t h) {
  h = (h ^ h >> 33) * 0xff51afd7ed558ccdU;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53U;
  return h ^ h >> 33;
}

/// 0 to 1, as each seed has it.
float chance(std::uint64_t seed) { return static_cast<float>(mixed(seed) >> 40) * 0x1p-24F; }

} // namespace

world::world(std::size_t entities)
    : position(entities)
    , velocity(entities)
    , wanted(entities)
    , push(entities)
    , phase(entities)
    , touching(entities)
    , cell_begin(columns * columns + 1)
    , by_cell(entities)
    , visible(entities)
    , screen(screen_width * screen_height) {
  for (std::size_t i = 0; i != entities; ++i) {
    position[i] = {field * chance(3 * i + 1), field * chance(3 * i + 2)};
    phase[i] = chance(3 * i + 3);
  }
}

std::size_t world::cell_of(vec place) {
  const auto along = [](float at) {
    return static_cast<std::size_t>(std::clamp(at / reach, 0.0F, static_cast<float>(columns - 1)));
  };
  return along(place.y) * columns + along(place.x);
}

std::uint64_t world::checksum() const {
  std::uint64_t sum = mixed(frame) + loudness;
  const auto add = [&sum](float v) { sum = mixed(sum ^ std::bit_cast<std::uint32_t>(v)); };
  for (std::size_t i = 0; i != size(); ++i)
    for (const float v : {position[i].x, position[i].y, velocity[i].x, velocity[i].y, phase[i]}) add(v);
  for (const std::uint8_t light : screen) sum = mixed(sum ^ light);
  return sum;
}

} // namespace frames
