// examples/bvh on any contender: boxes and keys, a sort, and the nodes of the tree. The sort is the
// contender's own. Reported is the second round: the first one touches the memory.
#pragma once

#include "../fib.hpp"

#include <bvh/nodes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bench {

template<class R>
class bvh_maker {
  static constexpr std::size_t block = 1024, worth_a_fork = 256;

  std::vector<bvh::triangle> scene_;
  std::vector<bvh::box> boxes_;
  std::vector<bvh::key> keys_;
  std::vector<bvh::node> nodes_;

  bvh::box bounds_of(std::size_t lo, std::size_t hi) const {
    if (hi - lo <= block) {
      bvh::box all;
      for (std::size_t i = lo; i != hi; ++i) all = bvh::around(all, bvh::around(scene_[i]));
      return all;
    }
    const std::size_t middle = lo + (hi - lo) / 2;
    auto [a, b] =
        R::join([=, this] { return bounds_of(lo, middle); }, [=, this] { return bounds_of(middle, hi); });
    return bvh::around(a, b);
  }
  void build_at(std::size_t me, std::span<const bvh::key> keys) {
    if (keys.size() <= worth_a_fork) return bvh::build_serially(nodes_, me, keys, boxes_);
    const std::size_t left = bvh::split_of(keys), second = me + 2 * left;
    static_cast<void>(R::join([=, this] { return build_at(me + 1, keys.first(left)), 0; },
                              [=, this] { return build_at(second, keys.subspan(left)), 0; }));
    nodes_[me] = {bvh::around(nodes_[me + 1].bounds, nodes_[second].bounds),
                  static_cast<std::uint32_t>(second), 0};
  }

public:
  explicit bvh_maker(std::size_t triangles)
      : scene_(bvh::random_scene(triangles, 0))
      , boxes_(triangles)
      , keys_(triangles)
      , nodes_(bvh::nodes_for(triangles)) {}

  void init() {
    const bvh::box all = bounds_of(0, scene_.size());
    R::for_index((scene_.size() + block - 1) / block, [this, &all](std::size_t k) {
      for (std::size_t i = k * block, end = std::min(scene_.size(), i + block); i != end; ++i) {
        boxes_[i] = bvh::around(scene_[i]);
        keys_[i] = bvh::key_of(boxes_[i], static_cast<std::uint32_t>(i), all);
      }
    });
  }
  void sort() { R::sort(std::span(keys_)); }
  void build() { build_at(0, keys_); }

  std::uint64_t checksum() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i != nodes_.size(); ++i)
      sum += (i + 1) * (nodes_[i].second + 3 * nodes_[i].triangle);
    return sum;
  }
};

template<class R>
measurement bvh_of(R& r, std::uint64_t triangles) {
  bvh_maker<R> maker(triangles);
  warm_up(r);
  measurement m;
  r.run([&] {
    for (int round = 0; round != 2; ++round) {
      const auto step = [](auto f) { return timed(1, [&] { return f(), std::uint64_t{0}; }); };
      const measurement init = step([&] { maker.init(); });
      const measurement sort = step([&] { maker.sort(); });
      const measurement build = step([&] { maker.build(); });
      m.ns = init.ns + sort.ns + build.ns;
      m.cpu_ns = init.cpu_ns + sort.cpu_ns + build.cpu_ns;
      m.extra = {{"init_ns", init.ns}, {"sort_ns", sort.ns}, {"build_ns", build.ns}};
    }
  });
  m.checksum = maker.checksum();
  return m;
}

} // namespace bench
