// The headers of examples/bvh: the tree, and where rays hit it, beside a look at every triangle.
#include "bvh/tree.hpp"
#include "examples/child.hpp"
#include "support/with_workers.hpp"

#include <rubato/pool.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace {

using namespace rubato_test;

class bvh_on : public testing::TestWithParam<unsigned> {
protected:
  rubato::pool pool_{with_workers(GetParam())};

  bvh::tree made_of(const std::vector<bvh::triangle>& scene) {
    bvh::tree tree;
    pool_.run([&] {
      tree.init(scene);
      tree.sort();
      tree.build();
    });
    return tree;
  }
};

INSTANTIATE_TEST_SUITE_P(workers, bvh_on, testing::Values(0U, 1U, 2U, 7U, 33U),
                         testing::PrintToStringParamName());

float nearest_of(const std::vector<bvh::triangle>& scene, const bvh::ray& r) {
  float nearest = bvh::far_away;
  for (const auto& t : scene) nearest = std::min(nearest, bvh::distance_to(t, r));
  return nearest;
}

TEST_P(bvh_on, rays_hit_what_a_look_at_every_triangle_finds) {
  for (const std::size_t size : {1U, 2U, 3U, 10U, 255U, 256U, 257U, 5'000U}) {
    const auto scene = bvh::random_scene(size, size);
    const auto tree = made_of(scene);
    unsigned hits = 0;
    for (std::uint64_t i = 0; i != 100; ++i) {
      const bvh::ray r = bvh::random_ray(size, i);
      const float nearest = nearest_of(scene, r);
      ASSERT_EQ(bvh::first_hit(tree.nodes(), scene, r), nearest) << size << ' ' << i;
      hits += nearest != bvh::far_away;
    }
    if (size >= 255) {
      EXPECT_GT(hits, 3U) << size;
    }
  }
}

TEST_P(bvh_on, each_box_holds_its_children_and_each_triangle_a_leaf) {
  const auto scene = bvh::random_scene(3'000, 1);
  const auto tree = made_of(scene);
  const auto nodes = tree.nodes();
  ASSERT_EQ(nodes.size(), 5'999U);
  std::vector<int> leaves(scene.size());
  for (std::size_t i = 0; i != nodes.size(); ++i) {
    if (nodes[i].second == 0) {
      ++leaves[nodes[i].triangle];
      EXPECT_EQ(nodes[i].bounds, bvh::around(scene[nodes[i].triangle]));
    } else {
      EXPECT_EQ(nodes[i].bounds, bvh::around(nodes[i + 1].bounds, nodes[nodes[i].second].bounds));
    }
  }
  EXPECT_EQ(std::ranges::count(leaves, 1), 3'000);
}

TEST_P(bvh_on, tree_is_the_same_as_with_one_worker) {
  const auto scene = bvh::random_scene(10'000, 2);
  rubato::pool one(1);
  bvh::tree expected;
  one.run([&] {
    expected.init(scene);
    expected.sort();
    expected.build();
  });
  EXPECT_TRUE(std::ranges::equal(made_of(scene).nodes(), expected.nodes()));
}

TEST_P(bvh_on, triangles_at_one_place_have_a_tree_too) {
  const std::vector<bvh::triangle> scene(2'000, {{0, 0, 1}, {1, 0, 1}, {0, 1, 1}});
  const auto tree = made_of(scene);
  EXPECT_EQ(bvh::first_hit(tree.nodes(), scene, {{0.25F, 0.25F, 0}, {0, 0, 1}}), 1.0F);
  EXPECT_EQ(bvh::first_hit(tree.nodes(), scene, {{0.75F, 0.75F, 0}, {0, 0, 1}}), bvh::far_away);
  EXPECT_EQ(bvh::first_hit(tree.nodes(), scene, {{0.25F, 0.25F, 2}, {0, 0, 1}}), bvh::far_away); // behind it
}

TEST_P(bvh_on, scene_without_triangles_has_a_tree_without_nodes) {
  const std::vector<bvh::triangle> none;
  const auto tree = made_of(none);
  EXPECT_TRUE(tree.nodes().empty());
  EXPECT_EQ(bvh::first_hit(tree.nodes(), none, {{0, 0, 0}, {1, 1, 1}}), bvh::far_away);
}

TEST_P(bvh_on, tree_is_made_again_for_another_scene) {
  bvh::tree tree;
  for (const std::size_t size : {3'000U, 10U, 4'000U}) {
    const auto scene = bvh::random_scene(size, size);
    pool_.run([&] {
      tree.init(scene);
      tree.sort();
      tree.build();
    });
    EXPECT_TRUE(std::ranges::equal(tree.nodes(), made_of(scene).nodes())) << size;
  }
}

TEST(bvh, program_checks_its_trees) {
  for (const char* workers : {"0", "1", "2", "33"}) {
    const outcome end = run({BVH_PROGRAM, "1", "1000", "20000", "--rounds", "1", "--workers", workers});
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_THAT(end.out, testing::ContainsRegex(" 1 .* of 16\n *1000 .* of 16\n *20000 .* of 16\n"))
        << end.out;
  }
}

TEST(bvh, program_refuses_wrong_arguments) {
  EXPECT_EQ(run({BVH_PROGRAM, "0"}).status, 2);
  EXPECT_EQ(run({BVH_PROGRAM, "many"}).status, 2);
  EXPECT_EQ(run({BVH_PROGRAM, "--workers", "-1"}).status, 2);
  EXPECT_EQ(run({BVH_PROGRAM, "--help"}).status, 0);
}

} // namespace
