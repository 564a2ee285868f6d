#include "made_up_root.hpp"
#include "os/cpus/affinity.hpp"
#include "os/cpus/cpus.hpp"
#include "os/thread.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <thread>

namespace {

using namespace rubato::os;

TEST(usable_cpus, from_both_limits) {
  struct {
    std::size_t cpus;
    std::optional<double> quota;
    unsigned usable;
  } const all[] = {
      {8, {}, 8},
      {8, 0.5, 1},
      {8, 1.0, 1},
      {8, 1.01, 2},
      {8, 2.5, 3},
      {8, 3.0, 3},
      {8, 7.9, 8},
      {8, 8.0, 8},
      {8, 64.0, 8},
      {1, 2.5, 1},
      {1, {}, 1},
      {0, {}, 1},
      {0, 4.0, 1},
      {8, 0.0, 1},
      {8, -1.0, 1},
      {8, 1e300, 8},
      {8, 1e-300, 1},
      {4'096, {}, 4'096},
      {8, std::numeric_limits<double>::infinity(), 8},
  };
  for (auto const& [cpus, quota, usable] : all)
    EXPECT_EQ(usable_cpus(cpus, quota), usable) << cpus << ' ' << quota.value_or(-7);
}

TEST(usable_cpus, of_made_up_machines) {
  auto const cpus = static_cast<unsigned>(affinity_cpus().size());
  rubato_test::made_up_root const root;
  EXPECT_EQ(usable_cpus(root.path()), cpus);
  root.write("/proc/self/cgroup", "0::/app\n");
  root.write("/sys/fs/cgroup/app/cpu.max", "max 100000\n");
  EXPECT_EQ(usable_cpus(root.path()), cpus);
  root.write("/sys/fs/cgroup/app/cpu.max", "50000 100000\n");
  EXPECT_EQ(usable_cpus(root.path()), 1U);
  root.write("/sys/fs/cgroup/app/cpu.max", "250000 100000\n");
  EXPECT_EQ(usable_cpus(root.path()), std::min(3U, cpus));
  root.write("/sys/fs/cgroup/app/cpu.max", "not a number\n");
  EXPECT_EQ(usable_cpus(root.path()), cpus);
}

TEST(usable_cpus, this_machine) {
  EXPECT_GE(usable_cpus(), 1U);
  EXPECT_LE(usable_cpus(), affinity_cpus().size());
}

TEST(affinity_cpus, are_distinct_and_ascending) {
  auto const cpus = affinity_cpus();
  ASSERT_FALSE(cpus.empty());
  EXPECT_GE(cpus.front(), 0);
  EXPECT_TRUE(std::ranges::is_sorted(cpus));
  EXPECT_EQ(std::ranges::adjacent_find(cpus), cpus.end());
}

TEST(affinity_cpus, follow_the_mask_of_the_thread) {
  auto const all = affinity_cpus();
  std::thread([&] {
    auto const last = all.back();
    ASSERT_TRUE(cpu_mask(std::span(&last, 1)).apply()); // a mask of its own, not a pin
    EXPECT_EQ(affinity_cpus(), std::vector{last});
    EXPECT_EQ(usable_cpus(), 1U);
    ASSERT_TRUE(cpu_mask(all).apply());
    EXPECT_EQ(affinity_cpus(), all);
  }).join();
}

TEST(affinity_cpus, are_pinned_ones_from_before_the_pin) {
  auto const all = affinity_cpus();
  std::thread([&] {
    ASSERT_TRUE(pin(all.front()));
    EXPECT_EQ(affinity_cpus(), all);
    ASSERT_TRUE(pin(all.back()));
    EXPECT_EQ(affinity_cpus(), all);
    EXPECT_TRUE(unpin());
    EXPECT_EQ(affinity_cpus(), all);
  }).join();
}

} // namespace
