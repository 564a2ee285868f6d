#include "trace/reader/output/report/blocked.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace rubato::detail {

void write_blocked(report_page& page) {
  struct blocked {
    std::uint32_t name = 0;
    std::size_t times = 0;
    std::int64_t sum = 0;
  };
  std::map<std::uint32_t, blocked> all;
  std::set<std::pair<std::uint32_t, std::int64_t>> seen; // a task may be found blocked more than once
  std::size_t times = 0;
  for (relief_sent const& r : page.t.reliefs) {
    if (!r.is_blocked) continue;
    ++times;
    blocked& b = all[r.name];
    b.name = r.name;
    ++b.times;
    if (seen.emplace(r.on_track, r.since).second) b.sum += r.until - r.since;
  }
  if (times != 0) {
    std::vector<blocked> rows;
    for (auto const& [name, b] : all) rows.push_back(b);
    std::ranges::sort(rows, std::ranges::greater(), &blocked::sum);
    page.line(
        print("\nBlocked in the kernel: %zu times a thread was sent, since tasks were ready and a worker "
              "slept in its task",
              times));
    page.line(print("%9s %10s  %s", "times", "they took", "name"));
    for (std::size_t i = 0; i != std::min(rows.size(), most_waits); ++i)
      page.line(
          print("%9zu %10s  %s", rows[i].times, time(rows[i].sum).c_str(), page.name(rows[i].name).c_str()));
    page.line(
        "  a std::mutex, a read or a sleep counts as busy time: wrap it in rubato::blocking(), or await "
        "Rubato's own");
  }
  if (times != page.t.reliefs.size())
    page.line(print("%s%zu times a thread was sent, since tasks were ready and all workers computed",
                    times == 0 ? "\n" : "", page.t.reliefs.size() - times));
}

} // namespace rubato::detail
