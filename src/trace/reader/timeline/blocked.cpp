#include "trace/reader/timeline/blocked.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace rubato::detail {

namespace {

struct place {
  std::int64_t at = 0;
  std::uint32_t track = 0;
};

/// The threads that have had a number in a pool, by pool and number, in order: a number is used again.
using places = std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<place>>;

places places_in(recording const& from) {
  places all;
  for (std::uint32_t r = 0; r != from.rings.size(); ++r)
    for (trace_event const& e : from.rings[r].events)
      if (e.kind() == event_kind::joined)
        all[{e.id, e.name()}].push_back({.at = from.ns(e.ticks), .track = r});
  for (auto& [number, in_order] : all) std::ranges::sort(in_order, {}, &place::at);
  return all;
}

/// The innermost activity of that thread at that time; null: none was recorded.
slice const* running_at(track const& k, std::int64_t at) noexcept {
  auto next = std::ranges::upper_bound(k.slices, at, {}, &slice::begin);
  while (next != k.slices.begin()) {
    slice const& s = *--next;
    if (is_activity(s.kind) && (s.open || s.end >= at)) return &s;
    if (s.depth == 0) return nullptr;
  }
  return nullptr;
}

} // namespace

void add_reliefs(timeline& t, recording const& from) {
  places const all = places_in(from);
  for (std::uint32_t r = 0; r != from.rings.size(); ++r) {
    for (trace_event const& e : from.rings[r].events) {
      if (e.kind() != event_kind::relief) continue;
      relief_sent sent{.at = from.ns(e.ticks), .on_track = r};
      if (e.name() != 0) {
        sent.is_blocked = true;
        auto const known = all.find({e.id, e.name() - 1});
        if (known == all.end()) continue; // where it joined was overwritten
        auto const next = std::ranges::upper_bound(known->second, sent.at, {}, &place::at);
        sent.on_track = (next == known->second.begin() ? next : next - 1)->track;
        if (slice const* const s = running_at(t.tracks[sent.on_track], sent.at); s != nullptr) {
          sent.name = s->name;
          sent.since = s->begin;
          sent.until = s->open ? t.last() : s->end;
        }
      }
      if (t.part.holds(sent.at)) t.reliefs.push_back(sent);
    }
  }
  std::ranges::sort(t.reliefs, {}, &relief_sent::at);
}

} // namespace rubato::detail
