#include "trace/reader/output/report/unseated.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace rubato::detail {

void write_unseated(report_page& page) {
  if (page.t.unseated.empty()) return;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> all; // by thread and name
  for (unseated_return const& r : page.t.unseated) ++all[{r.on_track, r.name}];
  std::vector<std::pair<std::size_t, std::pair<std::uint32_t, std::uint32_t>>> rows;
  for (auto const& [where, times] : all) rows.emplace_back(times, where);
  std::ranges::sort(rows, std::ranges::greater());
  page.line(print(
      "\nNo seat free: %zu times a thread came back from a wait or from rubato::blocking, and others had "
      "all seats",
      page.t.unseated.size()));
  page.line(print("%9s  %s", "times", "thread; in"));
  for (std::size_t i = 0; i != std::min(rows.size(), most_waits); ++i) {
    track const& on = page.t.tracks[rows[i].second.first];
    page.line(print("%9zu  %s (thread %llu); %s", rows[i].first, on.name.c_str(),
                    static_cast<unsigned long long>(on.thread), page.name(rows[i].second.second).c_str()));
  }
  page.line(
      "  it ran on without one, beside as many threads as there are workers: the next of them that ends a "
      "task "
      "sleeps");
}

} // namespace rubato::detail
