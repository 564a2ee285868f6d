#include "os/cpus/topology.hpp"

#include "os/io/file.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace rubato::os {

namespace {

/// A list like "0-3,8", ascending; nothing if it is not one.
std::vector<int> parse_cpu_list(std::string_view list) {
  constexpr int most = 1 << 20;
  std::vector<int> result;
  while (!list.empty()) {
    auto const range = cut(list, ',');
    auto const dash = range.find('-');
    auto const first = parse_number<int>(range.substr(0, dash));
    auto const last = dash == range.npos ? first : parse_number<int>(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *first > *last || *last >= most) return {};
    for (int i = *first; i <= *last; ++i) result.push_back(i);
  }
  std::ranges::sort(result);
  return result;
}

std::vector<int> read_cpu_list(std::string const& path) {
  return parse_cpu_list(read_file(path).value_or(""));
}

bool contains(std::vector<int> const& sorted, int i) { return std::ranges::binary_search(sorted, i); }

/// The lowest CPU of the core that `id` is part of, if the kernel lists a core's CPUs. The second name is the
/// one that kernels before 5.3 have.
std::optional<int> lowest_sibling(std::string const& directory, int id) {
  for (auto const* name : {"core_cpus_list", "thread_siblings_list"})
    if (auto const siblings = read_cpu_list(path_in(directory, name)); contains(siblings, id))
      return siblings.front();
  return {};
}

/// From CPU to memory node.
std::map<int, int> read_nodes(std::string const& directory) {
  constexpr std::string_view prefix = "node";
  std::map<int, int> result;
  for (std::string const& name : names_in(directory)) {
    if (!name.starts_with(prefix)) continue;
    if (auto const node = parse_number<int>(std::string_view(name).substr(prefix.size())))
      for (int const id : read_cpu_list(path_in(path_in(directory, name), "cpulist"))) result[id] = *node;
  }
  return result;
}

} // namespace

std::vector<cpu> topology(std::string const& root, std::vector<int> const& cpus) {
  auto const system = path_in(root, "sys/devices/system");
  auto const online = read_cpu_list(path_in(system, "cpu/online"));
  auto const nodes = read_nodes(path_in(system, "node"));

  auto ids = cpus;
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  if (!online.empty()) std::erase_if(ids, [&](int id) { return !contains(online, id); });

  std::vector<cpu> result;
  std::map<std::pair<int, int>, int> lowest; // from package and core_id, where a core's CPUs are not listed
  for (int const id : ids) {
    auto const directory = path_in(system, "cpu/cpu" + std::to_string(id) + "/topology");
    // Virtual machines without such a thing say -1.
    int const package = std::max(0, read_number<int>(path_in(directory, "physical_package_id")).value_or(0));
    auto core = lowest_sibling(directory, id);
    if (!core) {
      auto const core_id = read_number<int>(path_in(directory, "core_id"));
      core = core_id ? lowest.try_emplace({package, *core_id}, id).first->second : id;
    }
    auto const node = nodes.find(id);
    result.push_back({id, *core, package, node == nodes.end() ? 0 : node->second});
  }
  return result;
}

namespace {

// Not local to its function: g++ 13 rejects a defaulted comparison there under ranges::sort.
struct place {
  int sibling; // how many CPUs of the same core come before this one
  int turn;    // how many of the same node and place in the core come before this one, if nodes take turns
  std::size_t rank; // nodes in their order, within a node packages and cores
  auto operator<=>(place const&) const = default;
};

} // namespace

std::vector<cpu> in_placement_order(std::vector<cpu> cpus, placement_policy policy) {
  std::ranges::sort(cpus, {}, [](cpu const& c) { return std::tuple(c.node, c.package, c.core, c.id); });

  std::vector<place> places;
  std::map<std::pair<int, int>, int> taken; // from node and place in the core
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    auto const& c = cpus[i];
    bool const same_core = i > 0 && cpus[i - 1].package == c.package && cpus[i - 1].core == c.core;
    int const sibling = same_core ? places.back().sibling + 1 : 0;
    int const turn = policy == placement_policy::numa ? taken[{c.node, sibling}]++ : 0;
    places.push_back({sibling, turn, i});
  }
  std::ranges::sort(places);

  std::vector<cpu> order;
  order.reserve(places.size());
  for (auto const& p : places) order.push_back(cpus[p.rank]);
  return order;
}

std::vector<int> placement_order(std::vector<cpu> cpus, placement_policy policy) {
  std::vector<int> order;
  for (cpu const& c : in_placement_order(std::move(cpus), policy)) order.push_back(c.id);
  return order;
}

} // namespace rubato::os
