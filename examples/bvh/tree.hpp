// A bounding-volume hierarchy: a tree of boxes over the triangles of a scene, in which a ray finds those that
// it may hit without a look at the others. Made in three steps, as many games make it anew for every frame.
//
// Source: C. Lauterbach et al., Fast BVH construction on GPUs (Eurographics 2009), with the nodes in the
// order of a depth-first walk.
#pragma once

#include "morton.hpp"
#include "nodes.hpp"
#include "triangles.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/join.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

namespace bvh {

class tree {
  std::vector<box> boxes_; ///< of the triangles
  std::vector<key> keys_;
  std::vector<node> nodes_;

  static void build_at(std::span<node> nodes, std::size_t me, std::span<const key> keys,
                       std::span<const box> boxes) {
    if (keys.size() <= 256) return build_serially(nodes, me, keys, boxes); // not worth a fork
    const std::size_t left = split_of(keys), second = me + 2 * left;
    rubato::join([&] { build_at(nodes, me + 1, keys.first(left), boxes); },
                 [&] { build_at(nodes, second, keys.subspan(left), boxes); });
    nodes[me] = {around(nodes[me + 1].bounds, nodes[second].bounds), static_cast<std::uint32_t>(second), 0};
  }

public:
  /// 1. A box and a key for each triangle. Throws std::length_error for 2^31 triangles or more.
  void init(std::span<const triangle> scene) {
    if (scene.size() > std::numeric_limits<std::int32_t>::max())
      throw std::length_error("too many triangles for one tree");
    boxes_.resize(scene.size());
    keys_.resize(scene.size());
    nodes_.resize(nodes_for(scene.size()));
    const box all = rubato::reduce(
        scene, box{}, [](const box& a, const box& b) { return around(a, b); },
        [](const triangle& t) { return around(t); });
    rubato::for_range(std::size_t{0}, scene.size(), [&](std::size_t lo, std::size_t hi) {
      for (std::size_t i = lo; i != hi; ++i) {
        boxes_[i] = around(scene[i]);
        keys_[i] = key_of(boxes_[i], static_cast<std::uint32_t>(i), all);
      }
    });
  }
  /// 2. Triangles that are near each other get near each other.
  void sort() { rubato::sort(keys_); }
  /// 3. The nodes: the boxes of the leaves first, and on the way back the boxes around both children. Where a
  /// node lies is known before its children are made, so no two threads need the same word.
  void build() {
    if (!keys_.empty()) build_at(nodes_, 0, keys_, boxes_);
  }

  std::span<const node> nodes() const { return nodes_; }
};

} // namespace bvh
