#include "trace/reader/timeline/event_order.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace rubato::detail {

namespace {

struct change {
  std::int64_t at;
  bool sleeps; // else it has slept
};

/// A wake is noted after the sleeper may already run.
constexpr std::int64_t late_wake_ns = 1'000'000;

} // namespace

std::vector<event_place> in_order(recording const& from) {
  std::unordered_map<std::uint64_t, std::vector<change>> parkers;
  std::vector<event_place> all;
  for (std::uint32_t r = 0; r != from.rings.size(); ++r) {
    for (std::uint32_t i = 0; i != from.rings[r].events.size(); ++i) {
      trace_event const& e = from.rings[r].events[i];
      std::int64_t const at = from.ns(e.kind() == event_kind::seats ? e.occurred() : e.ticks);
      all.push_back({.at = at, .ring = r, .index = i});
      if (e.kind() == event_kind::park || e.kind() == event_kind::unparked)
        parkers[e.id].push_back({.at = at, .sleeps = e.kind() == event_kind::park});
    }
  }
  for (auto& [parker, changes] : parkers)
    std::ranges::sort(changes, {}, [](change const& c) { return std::tuple(c.at, c.sleeps); });
  auto const kind_at = [&](event_place const& p) { return from.rings[p.ring].events[p.index].kind(); };
  for (event_place& p : all) {
    if (kind_at(p) != event_kind::wake) continue;
    auto const parker = parkers.find(from.rings[p.ring].events[p.index].id);
    if (parker == parkers.end()) continue;
    auto const next = std::ranges::upper_bound(parker->second, p.at, {}, &change::at);
    if (next == parker->second.begin()) continue;
    change const& before = *(next - 1);
    if (!before.sleeps && p.at - before.at < late_wake_ns) p.at = before.at;
  }
  std::ranges::sort(all, {}, [&](event_place const& p) {
    return std::tuple(p.at, kind_at(p) != event_kind::wake, p.ring, p.index);
  });
  return all;
}

} // namespace rubato::detail
