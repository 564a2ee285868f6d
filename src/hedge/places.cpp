#include "hedge/places.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

namespace rubato::detail {

void choose_places(std::span<os::cpu const> order, caller_place caller, bool in_turn, std::span<int> places) {
  struct uses {
    int core = 0, node = 0, cpu = 0;
  };
  std::vector<uses> used(order.size());
  auto const use = [&](os::cpu const& taken) {
    for (std::size_t i = 0; i != order.size(); ++i) {
      used[i].core += order[i].core == taken.core ? 1 : 0;
      used[i].node += order[i].node == taken.node ? 1 : 0;
      used[i].cpu += order[i].id == taken.id ? 1 : 0;
    }
  };
  auto const own = std::ranges::find(order, caller.cpu, &os::cpu::id);
  std::size_t next = 0;
  if (caller.runs_copy && !places.empty()) {
    places[next++] = caller.cpu;
    if (own != order.end()) use(*own);
  }
  auto const is_callers_core = [&](os::cpu const& c) { return own != order.end() && c.core == own->core; };
  auto const node_rank = [&](std::size_t i) {
    if (in_turn) return used[i].node;
    return own == order.end() || order[i].node == own->node ? 0 : 1;
  };
  for (; next != places.size(); ++next) {
    std::size_t best = order.size();
    auto const rank = [&](std::size_t i) {
      return std::tuple(used[i].cpu, used[i].core, is_callers_core(order[i]), node_rank(i), i);
    };
    for (std::size_t i = 0; i != order.size(); ++i)
      if (best == order.size() || rank(i) < rank(best)) best = i;
    if (best == order.size()) {
      places[next] = -1;
      continue;
    }
    places[next] = order[best].id;
    use(order[best]);
  }
}

} // namespace rubato::detail
