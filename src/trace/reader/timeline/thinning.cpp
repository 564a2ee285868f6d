#include "trace/reader/timeline/thinning.hpp"

#include <algorithm>
#include <unordered_set>

namespace rubato::detail {

namespace {

std::size_t slices_in(timeline const& t) noexcept {
  std::size_t n = 0;
  for (track const& k : t.tracks) n += k.slices.size();
  return n;
}

/// One slice in place of both. It has the name of the longer kind: of the one that has stood for more time.
void add(slice& run, slice const& next) noexcept {
  if (next.self() > run.self() / run.merged) {
    run.name = next.name;
    run.kind = next.kind;
  }
  run.waited += next.waited;
  run.inner += next.inner;
  run.merged += next.merged;
  run.end = next.end;
  run.queued = std::max(run.queued, next.queued);
}

/// Spans of the user stay apart, unless they have one name.
bool alike(slice const& a, slice const& b) noexcept {
  return (is_work(a.kind) && is_work(b.kind)) ||
         (a.kind == slice_kind::span && b.kind == slice_kind::span && a.name == b.name);
}

void thin_track(track& t, std::int64_t brief) {
  std::vector<slice> kept;
  for (std::size_t i = 0; i < t.slices.size(); ++i) {
    slice const& s = t.slices[i];
    // What is in a brief slice is brief, and is dropped with it.
    if (!kept.empty() && s.depth > kept.back().depth && s.end <= kept.back().end && kept.back().merged > 1)
      continue;
    bool const joins = !kept.empty() && s.depth == kept.back().depth && alike(s, kept.back()) &&
                       s.length() < brief && kept.back().length() / kept.back().merged < brief &&
                       s.begin - kept.back().end < brief && !s.open;
    if (joins)
      add(kept.back(), s);
    else
      kept.push_back(s);
  }
  t.slices = std::move(kept);
}

} // namespace

void thin(timeline& t, std::size_t most) {
  constexpr std::int64_t first = 10'000, longest = 1'000'000'000; // ns
  for (std::int64_t brief = first; slices_in(t) > most && brief <= longest; brief *= 4) {
    for (track& k : t.tracks) thin_track(k, brief);
    // A cause leads to the begin of a slice that is left.
    std::vector<std::unordered_set<std::int64_t>> begins(t.tracks.size());
    for (std::size_t i = 0; i != t.tracks.size(); ++i)
      for (slice const& s : t.tracks[i].slices) begins[i].insert(s.begin);
    std::erase_if(t.causes, [&](cause const& c) { return !begins[c.on_track].contains(c.to); });
  }
}

} // namespace rubato::detail
