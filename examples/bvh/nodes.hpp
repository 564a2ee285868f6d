// The nodes of a tree of boxes, and what one thread does with them.
#pragma once

#include "morton.hpp"
#include "triangles.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bvh {

/// An inner node's first child lies behind it, a leaf has one triangle.
struct node {
  box bounds;
  std::uint32_t second = 0;   ///< of an inner node: its second child; 0: this is a leaf
  std::uint32_t triangle = 0; ///< of a leaf
  bool operator==(const node&) const = default;
};

/// A tree of n leaves has 2 n - 1 nodes.
inline std::size_t nodes_for(std::size_t leaves) { return leaves == 0 ? 0 : 2 * leaves - 1; }

/// Builds the subtree of `keys` from node `me` on. It fills nodes_for(keys.size()) of them.
inline void build_serially(std::span<node> nodes, std::size_t me, std::span<const key> keys,
                           std::span<const box> boxes) {
  if (keys.size() == 1) {
    const std::uint32_t triangle = index_of(keys.front());
    nodes[me] = {boxes[triangle], 0, triangle};
    return;
  }
  const std::size_t left = split_of(keys), second = me + 2 * left;
  build_serially(nodes, me + 1, keys.first(left), boxes);
  build_serially(nodes, second, keys.subspan(left), boxes);
  nodes[me] = {around(nodes[me + 1].bounds, nodes[second].bounds), static_cast<std::uint32_t>(second), 0};
}

/// Whether the ray enters the box before it has come so far. It never misses for rounding (T. Ize, Robust BVH
/// ray traversal, 2013).
inline bool enters(const box& b, const ray& r, float so_far) {
  float enter = 0, leave = so_far;
  for (std::size_t i = 0; i != 3; ++i) {
    const float inverse = 1 / r.direction[i];
    const float one = (b.low[i] - r.origin[i]) * inverse, other = (b.high[i] - r.origin[i]) * inverse;
    // A NaN, of a ray in the plane of a side, leaves the other bound as it is.
    enter = std::max(enter, std::min(one, other));
    leave = std::min(leave, std::max(one, other) * 1.0000004F);
  }
  return enter <= leave;
}

/// How far along the ray the first triangle is hit; far_away: none is.
inline float first_hit(std::span<const node> nodes, std::span<const triangle> scene, const ray& r) {
  float nearest = far_away;
  std::vector<std::uint32_t> to_do;
  if (!nodes.empty()) to_do.push_back(0);
  while (!to_do.empty()) {
    const std::uint32_t me = to_do.back();
    const node& n = nodes[me];
    to_do.pop_back();
    if (!enters(n.bounds, r, nearest)) continue;
    if (n.second == 0) {
      nearest = std::min(nearest, distance_to(scene[n.triangle], r));
    } else {
      to_do.push_back(n.second);
      to_do.push_back(me + 1);
    }
  }
  return nearest;
}

} // namespace bvh
