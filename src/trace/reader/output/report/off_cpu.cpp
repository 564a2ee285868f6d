#include "trace/reader/output/report/off_cpu.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>

namespace rubato::detail {

/// What a trace alone cannot tell: the kernel has counted it.
void write_off_cpu(report_page& page) {
  constexpr double least = 10; // percent of a thread's time
  std::string rows;
  unsigned shown = 0;
  double ran = 0, ready = 0, blocked = 0; // so many threads all the time
  for (track const& k : page.t.tracks) {
    double const busy = share(k.busy, k.last - k.first), off_cpu = busy - 100 * k.on_cpu;
    if (k.on_cpu < 0 || off_cpu < least || ++shown > most_rows) continue;
    double const without = std::min(off_cpu, 100 * k.without_cpu);
    ran += k.on_cpu;
    ready += without / 100;
    blocked += (off_cpu - without) / 100;
    std::map<std::uint32_t, std::int64_t> names;
    for (slice const& s : k.slices)
      if (is_activity(s.kind)) names[s.name] += s.self();
    auto const most = std::ranges::max_element(names, {}, [](auto const& n) { return n.second; });
    rows += print("%14.14s %5.1f%% %6.1f%% %6.1f%% %7.1f%%  %s\n", k.name.c_str(), busy, 100 * k.on_cpu,
                  without, off_cpu - without, most != names.end() ? page.name(most->first).c_str() : "?");
  }
  if (rows.empty()) return;
  page.line("\nBusy, but not on a CPU");
  if (page.t.part.from > 0 || page.t.part.to < std::numeric_limits<std::int64_t>::max())
    return page.line("    known for the whole trace only: leave out --from, --to and --last");
  page.line(print("%14s %6s %7s %7s %8s  %s", "", "busy", "on CPU", "ready", "blocked", "most of it in"));
  page.out += rows;
  page.line("     ready: to run, but other threads or programs had the CPUs");
  page.line("   blocked: in the kernel, by a mutex, a read, a sleep");
  if (ready > blocked)
    page.line("verdict: too few CPUs for these threads, or other programs had them");
  else if (shown > 1 && std::abs(ran - 1) < 0.2)
    page.line("verdict: one thread at a time. Probably all of them want one lock, and hold it for most of a "
              "task");
  else
    page.line(
        "verdict: mostly blocked. Await a sleep or a read, or wrap it in rubato::blocking; hold a mutex "
        "for less");
}

} // namespace rubato::detail
