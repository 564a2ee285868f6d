#include "report.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <ostream>
#include <string>

namespace identifiers {
namespace {

constexpr std::size_t problems_printed = 20; // the rest would scroll the table away; --json has them all

double megabytes(const census& result) { return static_cast<double>(result.seen.bytes) / 1e6; }
double megabytes_per_second(const census& result) { return megabytes(result) / result.seconds; }

/// More than the workers' number is no merit of theirs.
std::string reason_of(const report& all) {
  if (all.compared->speedup() <= all.workers) return {};
  return "             more than " + std::to_string(all.workers) +
         ", the number of workers: each core has caches of its own, or another program has slowed down the\n"
         "             counts with one worker; the range shows how quiet the machine was\n";
}

} // namespace

void print_text(const report& all, std::ostream& out) {
  const auto& [seen, problems, distinct, total, top, texts, seconds] = all.result;
  for (const auto& found : top) out << std::setw(7) << found.count << ' ' << found.text << '\n';

  out << std::fixed << std::setprecision(2) << '\n'
      << "identifiers  " << total << ", " << distinct << " distinct\n"
      << "read         " << seen.files << " files in " << seen.directories << " directories, "
      << megabytes(all.result) << " MB in " << seconds << " s: " << megabytes_per_second(all.result)
      << " MB/s\n"
      << "skipped      " << seen.symlinks << " symbolic links, " << seen.special << " special files\n"
      << "unreadable   " << problems.size() << '\n';
  if (all.compared)
    out << "speed-up     " << all.compared->speedup() << " (" << all.compared->lowest << " to "
        << all.compared->highest << ") over one worker: " << all.compared->seconds << " s, not "
        << all.compared->one_worker_seconds << " s, with the files in memory\n"
        << reason_of(all);
  else if (!all.why_not_compared.empty())
    out << "speed-up     not measured: " << all.why_not_compared << '\n';

  out << "workers      " << all.workers << '\n';
  if (all.workers == 0) return;
  out << "      worker         run      handed       taken\n";
  for (std::size_t i = 0; i < all.by_worker.size(); ++i) {
    const auto& counts = all.by_worker[i];
    out << std::setw(12) << i << std::setw(12) << counts.run << std::setw(12) << counts.handed
        << std::setw(12) << counts.taken << '\n';
  }
  out << "run: the tasks that the worker ran\n"
         "handed: halves of its work that it gave to another worker that asked for some\n"
         "taken: halves of work that it took from another worker that did not answer in time\n";
}

void print_json(const report& all, std::ostream& out) {
  using json = nlohmann::ordered_json;
  const auto& [seen, problems, distinct, total, top, texts, seconds] = all.result;

  auto table = json::array();
  for (const auto& found : top) table.push_back({{"identifier", found.text}, {"count", found.count}});
  auto unread = json::array();
  for (const auto& one : problems) unread.push_back({{"path", one.path}, {"reason", one.reason}});
  auto workers = json::array();
  for (const auto& one : all.by_worker)
    workers.push_back({{"run", one.run}, {"handed", one.handed}, {"taken", one.taken}});
  json speedup;
  if (all.compared)
    speedup = {{"ratio", all.compared->speedup()},
               {"lowest", all.compared->lowest},
               {"highest", all.compared->highest},
               {"seconds", all.compared->seconds},
               {"one_worker_seconds", all.compared->one_worker_seconds}};

  const json document = {{"paths", all.paths},
                         {"files", seen.files},
                         {"directories", seen.directories},
                         {"bytes", seen.bytes},
                         {"seconds", seconds},
                         {"megabytes_per_second", megabytes_per_second(all.result)},
                         {"identifiers", total},
                         {"distinct", distinct},
                         {"symlinks_skipped", seen.symlinks},
                         {"special_skipped", seen.special},
                         {"unreadable", problems.size()},
                         {"problems", std::move(unread)},
                         {"workers", all.workers},
                         {"by_worker", std::move(workers)},
                         {"speedup", std::move(speedup)},
                         {"top", std::move(table)}};
  // Paths are bytes, JSON is UTF-8: other bytes become a replacement character.
  out << document.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

void print_problems(const census& result, const std::vector<std::string>& paths, std::ostream& out) {
  const auto shown = std::min(result.problems.size(), problems_printed);
  for (std::size_t i = 0; i < shown; ++i)
    out << "identifiers: cannot read " << result.problems[i].path << ": " << result.problems[i].reason
        << '\n';
  if (shown < result.problems.size())
    out << "identifiers: cannot read " << result.problems.size() - shown << " more; --json lists them all\n";
  if (result.seen.files == 0 && result.problems.empty()) {
    out << "identifiers: there is no file in";
    for (const auto& path : paths) out << ' ' << path;
    out << "; name a directory that has some\n";
  }
}

} // namespace identifiers
