#include "trace/reader/output/report/waits.hpp"

#include <algorithm>
#include <cstddef>

namespace rubato::detail {

void write_waits(report_page& page) {
  if (page.t.waits.empty()) return;
  page.line("\nWhat waits for what");
  for (std::size_t i = 0; i != std::min(page.t.waits.size(), most_waits); ++i) {
    wait_total const& w = page.t.waits[i];
    page.line(print("%10s in all, %s at most, %llu times: %s %s %s%s%s", time(w.sum).c_str(),
                    time(w.longest).c_str(), static_cast<unsigned long long>(w.times),
                    page.name(w.in).c_str(), w.suspended ? "awaited" : "waited in",
                    page.name(w.reason).c_str(), w.by != 0 ? ", ended by " : "",
                    w.by != 0 ? page.name(w.by).c_str() : ""));
  }
}

} // namespace rubato::detail
