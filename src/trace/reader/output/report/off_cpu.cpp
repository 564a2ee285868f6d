#include "trace/reader/output/report/off_cpu.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>

namespace rubato::detail {

namespace {

constexpr double least = 10;              // percent of a thread's time
constexpr std::int64_t brief = 1'000'000; // ns: a thread that waits for a lock is woken sooner
constexpr double much = 0.15;             // of the time without a CPU

/// Sums of the threads that are shown. The three shares are so many threads all the time.
struct time_lost {
  unsigned threads = 0;
  double ran = 0, ready = 0, blocked = 0;
  std::int64_t blocked_ns = 0;
  std::uint64_t times = 0;

  [[nodiscard]] bool is_by_lock() const noexcept {
    bool const briefly = times != 0 && blocked_ns / static_cast<std::int64_t>(times) < brief;
    return threads > 1 && (briefly || std::abs(ran - 1) < 0.1);
  }
};

void write_verdict(report_page& page, time_lost const& all) {
  double const enough = much * (all.ready + all.blocked);
  if (all.blocked > enough && all.is_by_lock())
    page.line(
        "verdict: a lock. They are blocked often and briefly, or run one at a time: probably they all want "
        "one lock, and hold it for long");
  else if (all.blocked > enough)
    page.line(
        "verdict: mostly blocked. Await a sleep or a read, or wrap it in rubato::blocking; hold a mutex "
        "for less");
  if (all.ready > enough) page.line("verdict: too few CPUs for these threads, or other programs had them");
}

} // namespace

/// What a trace alone cannot tell: the kernel has counted it.
void write_off_cpu(report_page& page) {
  std::string rows;
  unsigned unknown = 0;
  time_lost all;
  for (track const& k : page.t.tracks) {
    std::int64_t const lasted = k.last - k.first;
    double const busy = share(k.busy, lasted), off_cpu = busy - 100 * k.on_cpu;
    if (k.on_cpu < 0 && busy >= least) ++unknown;
    if (k.on_cpu < 0 || off_cpu < least || ++all.threads > most_rows) continue;
    double const ready = std::min(off_cpu, 100 * k.without_cpu), blocked = off_cpu - ready;
    auto const blocked_ns = static_cast<std::int64_t>(blocked / 100 * static_cast<double>(lasted));
    std::uint64_t const times = k.switches - std::min(k.switches, k.parks);
    all.ran += k.on_cpu;
    all.ready += ready / 100;
    all.blocked += blocked / 100;
    all.blocked_ns += blocked_ns;
    all.times += times;
    std::map<std::uint32_t, std::int64_t> names;
    for (slice const& s : k.slices)
      if (is_activity(s.kind)) names[s.name] += s.self();
    auto const most = std::ranges::max_element(names, {}, [](auto const& n) { return n.second; });
    rows +=
        print("%14.14s %5.1f%% %6.1f%% %6.1f%% %7.1f%% %9s  %s\n", k.name.c_str(), busy, 100 * k.on_cpu,
              ready, blocked, times != 0 ? time(blocked_ns / static_cast<std::int64_t>(times)).c_str() : "?",
              most != names.end() ? page.name(most->first).c_str() : "?");
  }
  if (rows.empty() && unknown == 0) return;
  page.line("\nBusy, but not on a CPU");
  if (page.is_part())
    return page.line("    known for the whole trace only: leave out --from, --to and --last");
  if (rows.empty())
    return page.line(
        "    not known of this trace: the kernel's counts are taken when a thread ends, or the trace");
  page.line(print("%14s %6s %7s %7s %8s %9s  %s", "", "busy", "on CPU", "ready", "blocked", "each",
                  "most of it in"));
  page.out += rows;
  page.line("     ready: to run, but other threads or programs had the CPUs");
  page.line("   blocked: in the kernel, by a mutex, a read, a sleep; each: for so long on average");
  if (unknown != 0)
    page.line(print("   of %u other busy threads that is not known: they had not ended", unknown));
  write_verdict(page, all);
}

} // namespace rubato::detail
