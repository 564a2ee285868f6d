#include "trace/reader/convert.hpp"

#include "os/io/mapped_file.hpp"
#include "trace/reader/file/recording.hpp"
#include "trace/reader/output/json.hpp"
#include "trace/reader/output/perfetto.hpp"
#include "trace/reader/output/report.hpp"
#include "trace/reader/timeline/thinning.hpp"
#include "trace/reader/timeline/timeline.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace rubato::detail {

namespace {

window part_of(recording const& r, convert_options const& options) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
  for (recorded_ring const& ring : r.rings) {
    if (ring.events.empty()) continue;
    first = std::min(first, r.ns(ring.events.front().ticks));
    last = std::max(last, r.ns(ring.events.back().ticks));
  }
  window part;
  if (options.from || options.last) part.from = first;
  if (options.from) part.from = std::max<std::int64_t>(part.from, options.from->count());
  if (options.last) part.from = std::max<std::int64_t>(part.from, last - options.last->count());
  if (options.to) part.to = options.to->count();
  if (part.from > last || part.to < first || part.from > part.to)
    throw std::runtime_error("rubato: nothing was recorded in that time");
  return part;
}

[[nodiscard]] std::string warning_of(std::vector<std::string> const& changed) {
  std::string text;
  for (std::string const& file : changed)
    text += "warning: " + file +
            " is not the file that was recorded (another build id, or it cannot be read): its names are "
            "missing\n";
  return text;
}

void check_coroutine(timeline const& t) {
  if (t.coroutine.empty()) throw std::runtime_error("rubato: no coroutine with that address was recorded");
}

/// Beside those of the threads.
void add_track_of_coroutine(timeline& t, std::uint64_t address) {
  check_coroutine(t);
  constexpr std::uint64_t no_thread = 2'000'000'000; // no number of a thread is as high
  std::array<char, 40> name;
  std::snprintf(name.data(), name.size(), "coroutine 0x%llx", static_cast<unsigned long long>(address));
  track k;
  k.thread = no_thread;
  k.name = name.data();
  t.names.emplace_back("is queued");
  auto const queued = static_cast<std::uint32_t>(t.names.size() - 1);
  for (stretch const& s : t.coroutine) {
    if (!k.slices.empty()) k.slices.back().end = std::min(k.slices.back().end, s.begin);
    using state = stretch::state;
    k.slices.push_back({.begin = s.begin,
                        .end = s.end,
                        .name = s.is == state::queued ? queued : s.name,
                        .kind = s.is == state::runs ? slice_kind::task : slice_kind::wait});
  }
  t.tracks.push_back(std::move(k));
}

} // namespace

std::string convert_rings(std::string const& rings, std::string const& to, convert_options const& options) {
  recording const from(rings);
  timeline all = make_timeline(from, part_of(from, options), options.coroutine);
  thin(all, options.most);
  if (options.coroutine != 0) add_track_of_coroutine(all, options.coroutine);
  std::string const text = options.json ? to_json(all) : to_perfetto(all);
  if (int const error = os::write_file(to.c_str(), text.data(), text.size()); error != 0)
    throw std::system_error(error, std::generic_category(), "rubato: cannot write the trace " + to);
  return warning_of(all.changed);
}

std::string report_of_rings(std::string const& rings, convert_options const& options) {
  recording const from(rings);
  timeline const all = make_timeline(from, part_of(from, options), options.coroutine);
  if (options.coroutine != 0) {
    check_coroutine(all);
    return warning_of(all.changed) + coroutine_report_of(all);
  }
  return warning_of(all.changed) + report_of(all);
}

} // namespace rubato::detail
