#include "trace/reader/output/report.hpp"

#include "trace/reader/output/report/blocked.hpp"
#include "trace/reader/output/report/grain.hpp"
#include "trace/reader/output/report/names.hpp"
#include "trace/reader/output/report/off_cpu.hpp"
#include "trace/reader/output/report/page.hpp"
#include "trace/reader/output/report/queues.hpp"
#include "trace/reader/output/report/resumed.hpp"
#include "trace/reader/output/report/unfinished.hpp"
#include "trace/reader/output/report/unseated.hpp"
#include "trace/reader/output/report/waits.hpp"
#include "trace/reader/output/report/workers.hpp"
#include "trace/ring_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace rubato::detail {

namespace {

void write_head(report_page& page) {
  std::size_t workers = 0;
  std::uint64_t lost = 0, written = 0;
  double on_cpu = 0;                    // so many threads; below 0: not known of all
  constexpr std::uint64_t reserve = 64; // a reader leaves out so many of a ring that is full
  constexpr std::uint64_t most_events = ring_file_layout::most_events;
  for (track const& k : page.t.tracks) {
    lost += k.lost;
    written = std::max(written, k.written);
    workers += k.is_worker ? 1 : 0;
    on_cpu = k.on_cpu < 0 ? -1e9
                          : on_cpu + k.on_cpu * share(k.last - k.first, page.t.last() - page.t.first()) / 100;
  }
  std::int64_t const lasted = page.t.last() - page.t.first();
  page.line(print("%s recorded, %zu threads, %zu of them workers", time(lasted).c_str(), page.t.tracks.size(),
                  workers));
  if (page.is_part())
    page.line(print("  from %s to %s after the start: what reaches beyond is cut there",
                    time(page.t.first()).c_str(), time(page.t.last()).c_str()));
  page.line(print(
      "busy: %s (T1, the time of all tasks), as much as %.2f threads all the time%s", time(page.busy).c_str(),
      lasted > 0 ? static_cast<double>(page.busy) / static_cast<double>(lasted) : 0.0,
      on_cpu > 0 && !page.is_part() ? print("; all threads were on a CPU as much as %.2f", on_cpu).c_str()
                                    : ""));
  page.line(print("realised span: %s; the work that began when it could would keep %.1f threads busy",
                  time(page.t.span).c_str(),
                  page.t.span > 0 ? static_cast<double>(page.busy) / static_cast<double>(page.t.span) : 0.0));
  page.line(
      "  (a fork that no other thread took is a part of its task, so the span may be longer than it need "
      "be)");
  if (lost != 0)
    page.line(print("%llu older events were overwritten: see RUBATO_TRACE_EVENTS, of which %llu %s",
                    static_cast<unsigned long long>(lost),
                    static_cast<unsigned long long>(std::min(std::bit_ceil(written + reserve), most_events)),
                    written + reserve > most_events ? "is the most: the busiest thread wrote more"
                                                    : "keeps as many as the busiest thread wrote"));
  if (page.t.untraced != 0)
    page.line(print("%llu threads are missing: there was no room on the disk",
                    static_cast<unsigned long long>(page.t.untraced)));
}

} // namespace

std::string report_of(timeline const& t) {
  report_page page(t);
  write_head(page);
  write_names(page);
  write_grain(page);
  write_workers(page);
  write_unseated(page);
  write_off_cpu(page);
  write_queues(page);
  write_waits(page);
  write_blocked(page);
  write_resumed(page);
  write_unfinished(page);
  return std::move(page.out);
}

std::string coroutine_report_of(timeline const& t) {
  std::array<std::int64_t, 3> sums{};
  std::string rows;
  for (stretch const& s : t.coroutine) {
    static constexpr std::array<std::string_view, 3> words{"runs ", "awaits ", "is queued"};
    auto const is = static_cast<std::size_t>(s.is);
    sums[is] += s.end - s.begin;
    std::string what =
        std::string(words[is]) + (s.is != stretch::state::queued ? shortened(t.names[s.name]) : "");
    if (s.by != 0)
      what += (s.is == stretch::state::queued ? ", by " : ", ended by ") + shortened(t.names[s.by]);
    if (s.open) what += ", to the end of the recording";
    track const& on = t.tracks[s.on_track];
    rows +=
        print("%10s %10s  %s; on %s (thread %llu)\n", time(s.begin).c_str(), time(s.end - s.begin).c_str(),
              what.c_str(), on.name.c_str(), static_cast<unsigned long long>(on.thread));
  }
  return print("ran %s, was suspended for %s, and queued for %s\n", time(sums[0]).c_str(),
               time(sums[1]).c_str(), time(sums[2]).c_str()) +
         print("%10s %10s  %s\n", "at", "took", "what") + rows;
}

} // namespace rubato::detail
