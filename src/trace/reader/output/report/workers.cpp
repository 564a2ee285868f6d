#include "trace/reader/output/report/workers.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace rubato::detail {

void write_workers(report_page& page) {
  struct reason {
    std::int64_t idle_time::* time;
    char const* head;
    char const* means;
  };
  static constexpr std::array<reason, 7> reasons{
      {{&idle_time::nothing, "nothing",
        "asleep, nothing was ready: the program gives too little work at a time"},
       {&idle_time::displaced, "outside",
        "asleep, a thread from outside, which called the pool, ran in its place"},
       {&idle_time::no_seat, "no seat",
        "asleep, while other threads had all seats: a spare thread, in the place of one that blocked"},
       {&idle_time::queued, "queued", "asleep, though a task was queued: for another thread"},
       {&idle_time::late, "late", "asleep, while another thread ran work of which it got a part only later"},
       {&idle_time::woken, "no CPU", "woken from sleep, waited for a CPU: other threads or programs had it"},
       {&idle_time::searched, "search", "awake, between two tasks or in search of one"}}};
  std::string head = print("%14s %6s %7s", "", "busy", "waited");
  for (reason const& r : reasons) head += print(" %7s", r.head);
  std::string rows;
  unsigned workers = 0;
  std::array<std::int64_t, reasons.size()> sums{};
  std::int64_t all = 0, busy = 0, waited = 0;
  auto const row = [&](std::string const& name, std::int64_t lasted, std::int64_t b, std::int64_t w,
                       std::array<std::int64_t, reasons.size()> const& times) {
    rows += print("%14.14s %5.1f%% %6.1f%%", name.c_str(), share(b, lasted), share(w, lasted));
    for (std::int64_t const t : times) rows += print(" %6.1f%%", share(t, lasted));
    rows += '\n';
  };
  for (track const& k : page.t.tracks) {
    std::int64_t const lasted = k.last - k.first;
    if (!k.is_worker || (lasted == 0 && k.busy == 0)) continue; // not in this part
    std::int64_t const in_tasks = std::max<std::int64_t>(0, lasted - k.busy - k.idle.sum());
    std::array<std::int64_t, reasons.size()> times{};
    for (std::size_t i = 0; i != reasons.size(); ++i) sums[i] += times[i] = k.idle.*reasons[i].time;
    all += lasted;
    busy += k.busy;
    waited += in_tasks;
    if (++workers <= most_rows) row(k.name, lasted, k.busy, in_tasks, times);
  }
  page.line("\nWorkers: what they did with their time");
  page.line(head);
  if (workers != 1) row("all", all, busy, waited, sums);
  page.out += rows;
  page.line("    waited: in a task, for something");
  for (reason const& r : reasons) page.line(print("  %8s: %s", r.head, r.means));
  transfer_total const& got = page.t.transfers;
  if (got.handed + got.taken + got.steals != 0)
    page.line(print(
        "from other threads: %llu forks or pieces of loops handed over, %llu taken, %llu steals of %llu "
        "queued tasks",
        static_cast<unsigned long long>(got.handed), static_cast<unsigned long long>(got.taken),
        static_cast<unsigned long long>(got.steals), static_cast<unsigned long long>(got.stolen)));
}

} // namespace rubato::detail
