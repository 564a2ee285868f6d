// What a game knows of its entities, an array for each property.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace frames {

struct vec {
  float x = 0, y = 0;
};

inline constexpr float field = 1000;        ///< the length of a side
inline constexpr float reach = 5;           ///< entities that are nearer to each other touch
inline constexpr std::size_t columns = 200; ///< of cells; a cell's side is `reach`
inline constexpr std::size_t screen_width = 320, screen_height = 180;

/// Entity 0 is the player.
struct world {
  explicit world(std::size_t entities);

  std::size_t size() const { return position.size(); }
  /// The cell of a place.
  static std::size_t cell_of(vec place);
  /// Of everything: two worlds with equal ones have gone through the same.
  std::uint64_t checksum() const;

  std::uint64_t frame = 0;
  std::vector<vec> position, velocity, wanted, push;
  std::vector<float> phase; ///< of the animation, 0 to 1
  std::vector<std::uint32_t> touching;
  std::vector<std::uint32_t> cell_begin; ///< in by_cell; its last is their number
  std::vector<std::uint32_t> cell_next;  ///< while they are sorted
  std::vector<std::uint32_t> by_cell;    ///< the entities, sorted by their cells
  std::vector<std::uint8_t> visible;
  std::vector<std::uint8_t> screen;
  std::uint64_t loudness = 0;
};

} // namespace frames
