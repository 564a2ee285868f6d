#include "trace/reader/output/report/grain.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace rubato::detail {

namespace {

constexpr std::int64_t fine_task = 1'000, fine_steal = 2'000; // ns: what is given away costs about as much
constexpr std::size_t many_tasks = 1'000;

} // namespace

void write_grain(report_page& page) {
  static constexpr std::array<std::pair<std::int64_t, char const*>, 6> classes{
      {{1'000, "< 1 us"},
       {10'000, "< 10 us"},
       {100'000, "< 100 us"},
       {1'000'000, "< 1 ms"},
       {10'000'000, "< 10 ms"},
       {std::int64_t{1} << 62U, "longer"}}};
  std::array<std::size_t, classes.size()> count{};
  std::array<std::int64_t, classes.size()> sum{};
  std::int64_t work = 0, fine = 0, fine_steals = 0;
  std::size_t tasks = 0, fine_tasks = 0;
  page.for_each_slice([&](track const& /*k*/, slice const& s) {
    if (!is_work(s.kind) || s.open) return;
    std::int64_t const length = s.length() - s.waited;
    std::size_t c = 0;
    while (length >= classes[c].first) ++c;
    ++count[c];
    sum[c] += s.self();
    work += s.self();
    if (s.kind == slice_kind::latent) {
      if (length < fine_steal) fine_steals += s.self();
      return;
    }
    ++tasks;
    if (length >= fine_task) return;
    ++fine_tasks;
    fine += s.self();
  });
  // Their time alone does not tell: the task that spawns them, and those that lost their CPU, last longer.
  bool const most_are_fine = tasks >= many_tasks && share(static_cast<std::int64_t>(fine_tasks),
                                                          static_cast<std::int64_t>(tasks)) > 90;
  auto const queuing = static_cast<std::int64_t>(fine_tasks) * fine_task;
  page.line("\nGrain: lengths of tasks, children and stolen halves, and shares of their time");
  for (std::size_t c = 0; c != classes.size(); ++c)
    if (count[c] != 0) page.line(print("%9zu %5.1f%%  %s", count[c], share(sum[c], work), classes[c].second));
  if (work == 0)
    page.line("verdict: nothing was queued, forked to another thread or put into a scope, or the level was "
              "low, which leaves tasks out");
  else if (share(fine, work) > 20)
    page.line(
        print("verdict: too fine. %.0f%% of their time is in tasks of less than 1 us, whose queuing costs as "
              "much. Let a task do more, or use a loop, which chooses its grain",
              share(fine, work)));
  else if (most_are_fine && share(queuing, work) > 10)
    page.line(
        print("verdict: too fine. %zu of %zu tasks are of less than 1 us, and to queue one costs about as "
              "much. Let a task do more, or use a loop, which chooses its grain (min_chunk sets a least one)",
              fine_tasks, tasks));
  else if (share(fine_steals, work) > 20)
    page.line(
        print("verdict: too fine. %.0f%% of their time is in stolen halves of less than 2 us: stop forking "
              "earlier",
              share(fine_steals, work)));
  else if (share(work, page.busy) >= 50)
    page.line("verdict: coarse enough");
  else
    page.line(print("verdict: coarse enough, but that is %.0f%% of the busy time: what a thread ran itself, "
                    "where it was forked or spawned, is a part of the task around it",
                    share(work, page.busy)));
}

} // namespace rubato::detail
