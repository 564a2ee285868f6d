#include "trace/reader/convert.hpp"

#include "os/io/mapped_file.hpp"
#include "trace/reader/file/recording.hpp"
#include "trace/reader/output/json.hpp"
#include "trace/reader/output/perfetto.hpp"
#include "trace/reader/output/report.hpp"
#include "trace/reader/timeline/thinning.hpp"
#include "trace/reader/timeline/timeline.hpp"

#include <system_error>

namespace rubato::detail {

void convert_rings(std::string const& rings, std::string const& to, convert_options const& options) {
  timeline all = make_timeline(recording(rings));
  if (options.from || options.to || options.last) {
    std::int64_t from = options.from ? options.from->count() : all.first();
    if (options.last) from = all.last() - options.last->count();
    cut(all, from, options.to ? options.to->count() : all.last());
  }
  thin(all, options.most);
  std::string const text = options.json ? to_json(all) : to_perfetto(all);
  if (int const error = os::write_file(to.c_str(), text.data(), text.size()); error != 0)
    throw std::system_error(error, std::generic_category(), "rubato: cannot write the trace " + to);
}

std::string report_of_rings(std::string const& rings) { return report_of(make_timeline(recording(rings))); }

} // namespace rubato::detail
