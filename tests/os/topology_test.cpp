#include "made_up_root.hpp"
#include "os/cpus/topology.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ostream>

namespace rubato::os {
std::ostream& operator<<(std::ostream& out, cpu const& c) {
  return out << "{cpu " << c.id << " core " << c.core << " package " << c.package << " node " << c.node
             << '}';
}
} // namespace rubato::os

namespace {

using namespace rubato::os;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int> first(int n) {
  std::vector<int> result;
  for (int i = 0; i < n; ++i) result.push_back(i);
  return result;
}

class machine : public rubato_test::made_up_root {
public:
  void cpu_file(int id, std::string_view name, std::string_view text) const {
    write("/sys/devices/system/cpu/cpu" + std::to_string(id) + "/topology/" + std::string(name), text);
  }
  void node(int id, std::string_view cpus) const {
    write("/sys/devices/system/node/node" + std::to_string(id) + "/cpulist", cpus);
  }
  void online(std::string_view cpus) const { write("/sys/devices/system/cpu/online", cpus); }
};

/// Two packages, each a node with two cores, each core with two CPUs, numbered as Linux does: siblings
/// are 4 apart. core_id counts from zero in each package.
void build_two_packages(machine const& m, char const* siblings_file) {
  m.online("0-7\n");
  for (int id = 0; id < 8; ++id) {
    int const low = id % 4;
    m.cpu_file(id, "physical_package_id", low < 2 ? "0\n" : "1\n");
    m.cpu_file(id, "core_id", low % 2 == 0 ? "0\n" : "1\n");
    if (siblings_file != nullptr)
      m.cpu_file(id, siblings_file, std::to_string(low) + "," + std::to_string(low + 4) + "\n");
  }
  m.node(0, "0-1,4-5\n");
  m.node(1, "2-3,6-7\n");
}

std::vector<cpu> const two_packages{{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 2, 1, 1}, {3, 3, 1, 1},
                                    {4, 0, 0, 0}, {5, 1, 0, 0}, {6, 2, 1, 1}, {7, 3, 1, 1}};

TEST(topology, two_packages_with_siblings) {
  for (auto const* const fixed_fork_group :
       {"core_cpus_list", "thread_siblings_list", static_cast<char const*>(nullptr)}) {
    machine const m;
    build_two_packages(m, fixed_fork_group);
    EXPECT_EQ(topology(m.path(), first(8)), two_packages)
        << (fixed_fork_group != nullptr ? fixed_fork_group : "core_id alone");
  }
}

TEST(topology, restricted_to_the_given_cpus) {
  machine const m;
  build_two_packages(m, "core_cpus_list");
  EXPECT_THAT(topology(m.path(), {7, 4, 1, 4}),
              ElementsAre(cpu{1, 1, 0, 0}, cpu{4, 0, 0, 0}, cpu{7, 3, 1, 1}));
  EXPECT_THAT(topology(m.path(), {}), IsEmpty());
}

TEST(topology, offline_cpus_are_left_out) {
  machine const m;
  build_two_packages(m, "core_cpus_list");
  m.online("0,2-3,6\n");
  m.cpu_file(0, "core_cpus_list", "0\n"); // as the kernel says while 4 is offline
  EXPECT_THAT(topology(m.path(), first(8)),
              ElementsAre(cpu{0, 0, 0, 0}, cpu{2, 2, 1, 1}, cpu{3, 3, 1, 1}, cpu{6, 2, 1, 1}));
}

TEST(topology, without_sysfs) {
  machine const m;
  EXPECT_THAT(topology(m.path(), {5, 2}), ElementsAre(cpu{2, 2, 0, 0}, cpu{5, 5, 0, 0}));
  EXPECT_THAT(topology(m.path() / "missing", {1}), ElementsAre(cpu{1, 1, 0, 0}));
}

TEST(topology, without_nodes) {
  machine const m;
  build_two_packages(m, "core_cpus_list");
  std::filesystem::remove_all(m.path() / "sys/devices/system/node");
  for (auto const& c : topology(m.path(), first(8))) EXPECT_EQ(c.node, 0);
}

TEST(topology, garbage) {
  for (auto const* const garbage :
       {"", "\n", "x", "1-", "-1", "3-1", "0-99999999", "0,,1", "0-7-9", "\xff", "4294967296"}) {
    machine const m;
    m.online(garbage);
    for (int id = 0; id < 2; ++id)
      for (auto const* const file :
           {"core_cpus_list", "thread_siblings_list", "core_id", "physical_package_id"})
        m.cpu_file(id, file, garbage);
    m.write("/sys/devices/system/node/nodex/cpulist", "0-1\n");
    m.write("/sys/devices/system/node/has_cpu", "0-1\n");
    m.node(0, garbage);
    auto const found = topology(m.path(), {0, 1});
    ASSERT_EQ(found.size(), 2U) << garbage;
    for (auto const& c : found) EXPECT_EQ(c.node, 0) << garbage;
  }
}

TEST(topology, siblings_that_leave_out_the_cpu_are_not_believed) {
  machine const m;
  m.cpu_file(1, "core_cpus_list", "0\n");
  EXPECT_THAT(topology(m.path(), {0, 1}), ElementsAre(cpu{0, 0, 0, 0}, cpu{1, 1, 0, 0}));
}

TEST(topology, package_of_minus_one) {
  machine const m; // virtual machines on AArch64
  for (int id = 0; id < 2; ++id) {
    m.cpu_file(id, "physical_package_id", "-1\n");
    m.cpu_file(id, "core_id", std::to_string(id));
  }
  EXPECT_THAT(topology(m.path(), {0, 1}), ElementsAre(cpu{0, 0, 0, 0}, cpu{1, 1, 0, 0}));
}

TEST(topology, this_machine) {
  auto const found = topology();
  auto const cpus = affinity_cpus();
  ASSERT_EQ(found.size(), cpus.size());
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    EXPECT_EQ(found[i].id, cpus[i]);
    EXPECT_LE(found[i].core, found[i].id);
  }
}

TEST(placement_order, cores_fills_node_by_node) {
  EXPECT_THAT(placement_order(two_packages, placement_policy::cores), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(placement_order, numa_takes_turns) {
  EXPECT_THAT(placement_order(two_packages, placement_policy::numa), ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
}

TEST(placement_order, adjacent_siblings) { // CPUs 2n and 2n + 1 share a core
  std::vector<cpu> const cpus{{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 2, 0, 0}, {3, 2, 0, 0},
                              {4, 4, 1, 1}, {5, 4, 1, 1}, {6, 6, 1, 1}, {7, 6, 1, 1}};
  EXPECT_THAT(placement_order(cpus, placement_policy::cores), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_THAT(placement_order(cpus, placement_policy::numa), ElementsAre(0, 4, 2, 6, 1, 5, 3, 7));
}

TEST(placement_order, unequal_nodes) {
  std::vector<cpu> const cpus{{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 2, 0, 0},
                              {3, 3, 0, 0}, {4, 4, 0, 3}, {5, 5, 0, 7}};
  EXPECT_THAT(placement_order(cpus, placement_policy::numa), ElementsAre(0, 4, 5, 1, 2, 3));
  EXPECT_THAT(placement_order(cpus, placement_policy::cores), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(placement_order, mixed_cores) { // some with two CPUs, some with one, as in today's laptops
  std::vector<cpu> const cpus{{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 2, 0, 0},
                              {3, 2, 0, 0}, {4, 4, 0, 0}, {5, 5, 0, 0}};
  EXPECT_THAT(placement_order(cpus, placement_policy::cores), ElementsAre(0, 2, 4, 5, 1, 3));
  EXPECT_THAT(placement_order(cpus, placement_policy::numa), ElementsAre(0, 2, 4, 5, 1, 3));
}

TEST(placement_order, four_siblings_per_core) {
  std::vector<cpu> cpus;
  for (int id = 0; id < 8; ++id) cpus.push_back({id, id / 4 * 4, 0, 0});
  EXPECT_THAT(placement_order(cpus, placement_policy::cores), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
}

TEST(placement_order, several_packages_per_node_and_the_reverse) {
  std::vector<cpu> const packages{{0, 0, 1, 0}, {1, 1, 0, 0}, {2, 2, 1, 0}, {3, 3, 0, 0}};
  EXPECT_THAT(placement_order(packages, placement_policy::cores), ElementsAre(1, 3, 0, 2));
  std::vector<cpu> const nodes{{0, 0, 0, 1}, {1, 1, 0, 0}, {2, 2, 0, 1}, {3, 3, 0, 0}};
  EXPECT_THAT(placement_order(nodes, placement_policy::cores), ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(placement_order(nodes, placement_policy::numa), ElementsAre(1, 0, 3, 2));
}

TEST(placement_order, input_order_does_not_matter) {
  auto cpus = two_packages;
  for (auto const policy : {placement_policy::cores, placement_policy::numa}) {
    auto const expected = placement_order(two_packages, policy);
    for (int i = 0; i < 8; ++i) {
      std::ranges::rotate(cpus, cpus.begin() + 3);
      EXPECT_EQ(placement_order(cpus, policy), expected);
    }
  }
}

TEST(placement_order, nothing) {
  EXPECT_THAT(placement_order({}, placement_policy::cores), IsEmpty());
  EXPECT_THAT(placement_order({}, placement_policy::numa), IsEmpty());
}

} // namespace
