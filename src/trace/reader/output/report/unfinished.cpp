#include "trace/reader/output/report/unfinished.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace rubato::detail {

void write_unfinished(report_page& page) {
  if (page.t.at_the_end.empty()) return;
  page.line("\nNot finished at the end, the oldest first");
  for (std::size_t i = 0; i != std::min(page.t.at_the_end.size(), most_rows); ++i) {
    unfinished const& u = page.t.at_the_end[i];
    track const& on = page.t.tracks[u.on_track];
    std::string what;
    switch (u.is) {
    case unfinished::state::runs:
      what = page.name(u.name) + " runs";
      break;
    case unfinished::state::waits:
      what = page.name(u.name) + " waits in " + page.name(u.reason);
      break;
    case unfinished::state::suspended:
      what = page.name(u.name) + " awaits " + page.name(u.reason);
      break;
    case unfinished::state::queued:
      what = "a task is queued, by " + page.name(u.reason);
    }
    std::string const id =
        u.id != 0 ? print(", coroutine 0x%llx", static_cast<unsigned long long>(coroutine_address(u.id)))
                  : "";
    page.line(print("%10s  %s; on %s (thread %llu)%s", time(page.t.last() - u.since).c_str(), what.c_str(),
                    on.name.c_str(), static_cast<unsigned long long>(on.thread), id.c_str()));
  }
  if (page.t.at_the_end.size() > most_rows)
    page.line(print("            and %zu more", page.t.at_the_end.size() - most_rows));
}

} // namespace rubato::detail
