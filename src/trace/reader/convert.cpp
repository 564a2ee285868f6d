#include "trace/reader/convert.hpp"

#include "os/io/mapped_file.hpp"
#include "trace/reader/file/recording.hpp"
#include "trace/reader/output/json.hpp"
#include "trace/reader/output/perfetto.hpp"
#include "trace/reader/output/report.hpp"
#include "trace/reader/timeline/thinning.hpp"
#include "trace/reader/timeline/timeline.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <system_error>
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
  if (options.from) part.from = std::max(part.from, options.from->count());
  if (options.last) part.from = std::max(part.from, last - options.last->count());
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

} // namespace

std::string convert_rings(std::string const& rings, std::string const& to, convert_options const& options) {
  recording const from(rings);
  timeline all = make_timeline(from, part_of(from, options));
  thin(all, options.most);
  std::string const text = options.json ? to_json(all) : to_perfetto(all);
  if (int const error = os::write_file(to.c_str(), text.data(), text.size()); error != 0)
    throw std::system_error(error, std::generic_category(), "rubato: cannot write the trace " + to);
  return warning_of(all.changed);
}

std::string report_of_rings(std::string const& rings, convert_options const& options) {
  recording const from(rings);
  timeline const all = make_timeline(from, part_of(from, options));
  return warning_of(all.changed) + report_of(all);
}

} // namespace rubato::detail
