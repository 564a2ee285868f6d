// Places as numbers: near places have near numbers.
#pragma once

#include "triangles.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bvh {

/// The Morton code of a triangle's place in its upper half, and the triangle's index in the lower one. So no
/// two keys are equal, and sorted keys are sorted places.
using key = std::uint64_t;

inline std::uint32_t index_of(key k) { return static_cast<std::uint32_t>(k); }

/// 10 bits with two zeros between each of them and the next.
constexpr std::uint32_t spread(std::uint32_t x) {
  x = (x | x << 16U) & 0x030000ffU;
  x = (x | x << 8U) & 0x0300f00fU;
  x = (x | x << 4U) & 0x030c30c3U;
  return (x | x << 2U) & 0x09249249U;
}

/// By the middle of the triangle's box, in 1,024 steps along each side of `all`.
inline key key_of(const box& b, std::uint32_t index, const box& all) {
  std::uint32_t code = 0;
  for (std::size_t i = 0; i != 3; ++i) {
    const float side = all.high[i] - all.low[i];
    const float middle = (b.low[i] + b.high[i]) / 2 - all.low[i];
    const float step = side > 0 ? std::clamp(middle / side * 1024, 0.0F, 1023.0F) : 0;
    code |= spread(static_cast<std::uint32_t>(step)) << i;
  }
  return key{code} << 32U | index;
}

/// Where the highest bit in which two of the sorted keys differ becomes 1. There are at least two.
inline std::size_t split_of(std::span<const key> keys) {
  const auto bit = static_cast<int>(std::bit_width(keys.front() ^ keys.back())) - 1;
  const auto first = std::ranges::partition_point(keys, [=](key k) { return (k >> bit & 1U) == 0; });
  return static_cast<std::size_t>(first - keys.begin());
}

} // namespace bvh
