// Where the copies of a call are placed, on machines that are made up.
#include "hedge/places.hpp"
#include "os/cpus/topology.hpp"
#include "os/made_up_root.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

namespace os = rubato::os;
using rubato::detail::caller_place;
using testing::ElementsAre;

struct machine {
  int nodes, cores_per_node, threads_per_core;
  std::string online; ///< empty: all

  /// Numbered as Linux does: the second threads come after all cores.
  [[nodiscard]] std::vector<os::cpu> read(std::vector<int> const& mask) const {
    rubato_test::made_up_root const root;
    int const cores = nodes * cores_per_node, cpus = cores * threads_per_core;
    auto const system = std::string("/sys/devices/system/");
    root.write(system + "cpu/online", online.empty() ? "0-" + std::to_string(cpus - 1) + "\n" : online);
    std::vector<std::string> in_node(static_cast<std::size_t>(nodes));
    for (int id = 0; id != cpus; ++id) {
      int const core = id % cores, node = core / cores_per_node;
      std::string siblings = std::to_string(core);
      for (int t = 1; t != threads_per_core; ++t) siblings += "," + std::to_string(core + t * cores);
      auto const folder = system + "cpu/cpu" + std::to_string(id) + "/topology/";
      root.write(folder + "physical_package_id", std::to_string(node) + "\n");
      root.write(folder + "core_id", std::to_string(core % cores_per_node) + "\n");
      root.write(folder + "core_cpus_list", siblings + "\n");
      auto& list = in_node[static_cast<std::size_t>(node)];
      list += (list.empty() ? "" : ",") + std::to_string(id);
    }
    for (int n = 0; n != nodes; ++n)
      root.write(system + "node/node" + std::to_string(n) + "/cpulist",
                 in_node[static_cast<std::size_t>(n)] + "\n");
    std::vector<int> all = mask;
    for (int id = 0; mask.empty() && id != cpus; ++id) all.push_back(id);
    return os::topology(root.path(), all);
  }
};

std::vector<int> places(machine const& m, caller_place caller, unsigned n, bool in_turn = true,
                        std::vector<int> const& mask = {}) {
  std::vector<int> result(n);
  rubato::detail::choose_places(os::in_placement_order(m.read(mask), in_turn ? os::placement_policy::numa
                                                                             : os::placement_policy::cores),
                                caller, in_turn, result);
  return result;
}

machine const two_sockets{2, 2, 2, ""}; // cores 0, 1 | 2, 3; second threads 4, 5 | 6, 7
machine const four_nodes{4, 2, 1, ""};  // 0, 1 | 2, 3 | 4, 5 | 6, 7
machine const two_cpus{1, 2, 1, ""};
machine const one_core{1, 1, 2, ""};
machine const one_cpu{1, 1, 1, ""};

TEST(places_of_copies, begin_with_the_caller_then_the_other_node) {
  EXPECT_THAT(places(two_sockets, {1, true}, 2), ElementsAre(1, 2));
  EXPECT_THAT(places(two_sockets, {3, true}, 2), ElementsAre(3, 0));
  EXPECT_THAT(places(two_sockets, {7, true}, 2), ElementsAre(7, 0)); // a second thread of core 3
}
TEST(places_of_copies, use_each_core_before_its_second_thread) {
  EXPECT_THAT(places(two_sockets, {0, true}, 8), ElementsAre(0, 2, 1, 3, 6, 5, 7, 4));
}
TEST(places_of_copies, stay_on_the_callers_node_if_asked_to) {
  EXPECT_THAT(places(two_sockets, {3, true}, 4, false), ElementsAre(3, 2, 0, 1));
  EXPECT_THAT(places(two_sockets, {3, false}, 2, false), ElementsAre(2, 0));
}
TEST(places_of_copies, go_to_four_nodes_in_turn) {
  EXPECT_THAT(places(four_nodes, {5, true}, 4), ElementsAre(5, 0, 2, 6));
  EXPECT_THAT(places(four_nodes, {5, true}, 8), ElementsAre(5, 0, 2, 6, 4, 1, 3, 7));
}
TEST(places_of_copies, of_a_hedge_take_the_callers_core_last) {
  EXPECT_THAT(places(two_cpus, {0, false}, 2), ElementsAre(1, 0));
  EXPECT_THAT(places(two_cpus, {1, false}, 2), ElementsAre(0, 1));
  EXPECT_THAT(places(two_sockets, {0, false}, 4), ElementsAre(2, 1, 3, 0));
}
TEST(places_of_copies, share_a_core_if_there_is_only_one) {
  EXPECT_THAT(places(one_core, {0, true}, 2), ElementsAre(0, 1));
  EXPECT_THAT(places(one_core, {1, false}, 2), ElementsAre(0, 1));
  EXPECT_THAT(places(one_cpu, {0, true}, 1), ElementsAre(0));
}
TEST(places_of_copies, keep_to_the_mask_and_to_what_is_online) {
  EXPECT_THAT(places(two_sockets, {1, true}, 3, true, {1, 3, 5}), ElementsAre(1, 3, 5));
  EXPECT_THAT(places(four_nodes, {-1, false}, 2, true, {4, 5}), ElementsAre(4, 5));
  machine const offline{2, 2, 1, "0,3\n"};
  EXPECT_THAT(places(offline, {0, true}, 2), ElementsAre(0, 3));
}
TEST(places_of_copies, are_used_twice_only_when_all_are_taken) {
  EXPECT_THAT(places(two_cpus, {0, true}, 4), ElementsAre(0, 1, 1, 0));
}
TEST(places_of_copies, leave_a_caller_alone_that_is_elsewhere) {
  EXPECT_THAT(places(two_cpus, {9, true}, 3), ElementsAre(9, 0, 1));      // outside the pool's mask
  EXPECT_THAT(places(two_cpus, {-1, true}, 2), ElementsAre(-1, 0));       // the system does not tell
  EXPECT_THAT(places({1, 1, 1, "5\n"}, {-1, false}, 1), ElementsAre(-1)); // no CPU is known
}

} // namespace
