#include "trace/reader/output/report/resumed.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rubato::detail {

void write_resumed(report_page& page) {
  if (page.t.resumed.empty()) return;
  page.line("\nCoroutines that went on after a wait, and how many on another thread than before");
  for (std::size_t i = 0; i != std::min(page.t.resumed.size(), most_waits); ++i) {
    resumed_total const& r = page.t.resumed[i];
    page.line(print("%9llu %5.1f%%  %s", static_cast<unsigned long long>(r.times),
                    share(static_cast<std::int64_t>(r.elsewhere), static_cast<std::int64_t>(r.times)),
                    page.name(r.name).c_str()));
  }
}

} // namespace rubato::detail
