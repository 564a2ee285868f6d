// identifiers DIR: counts every identifier in a source tree, all on one pool.
#include "census.hpp"
#include "options.hpp"
#include "report.hpp"
#include "shared/system.hpp"
#include "shared/workers.hpp"

#include <rubato/live.hpp>
#include <rubato/pool.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace identifiers {
namespace {

double median(std::vector<double> seconds) {
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::ranges::nth_element(seconds, middle);
  return *middle;
}

std::vector<worker_counts> counts_of(const rubato::pool& pool) {
  std::vector<worker_counts> counts;
  const auto stats = pool.stats();
  for (const auto& seat : stats.seats) counts.push_back({seat.executed, seat.handed, seat.taken});
  return counts;
}

/// Counts again with one worker and with all, in turn: the first count may have read files from a disk that
/// are in memory by now, and another program that takes a core for a while must not slow down one of the two
/// only.
void compare(rubato::pool& pool, const options& asked, report& all) {
  if (asked.workers <= 1) return;
  if (all.result.seen.streams > 0) {
    all.why_not_compared = "a FIFO or a device cannot be read twice";
    return;
  }
  rubato::pool single(1u);
  std::vector<double> slow;
  std::vector<double> fast;
  double spent = 0;
  for (int round = 0; round < 5 && spent < 10; ++round) { // large trees vary less
    const census by_one =
        take_census(single, asked.paths, asked.top, asked.live ? "" : "again with one worker");
    const census by_all = take_census(pool, asked.paths, asked.top, asked.live ? "" : "again with all");
    if (by_one.total != all.result.total || by_all.total != all.result.total) {
      all.why_not_compared = "the files change while they are read";
      return;
    }
    slow.push_back(by_one.seconds);
    fast.push_back(by_all.seconds);
    spent += by_one.seconds + by_all.seconds;
  }
  if (all.result.seen.files == 0 || median(slow) < 0.01) {
    all.why_not_compared = "there is too little to measure";
    return;
  }
  std::vector<double> ratios;
  std::ranges::transform(slow, fast, std::back_inserter(ratios), std::divides<>());
  const auto [lowest, highest] = std::ranges::minmax(ratios);
  all.compared = comparison{median(slow), median(fast), lowest, highest};
}

exit_status run(const options& asked) {
  example::raise_open_file_limit();
  std::optional<rubato::live_view> view;
  if (asked.live) view.emplace();
  rubato::pool pool(example::with_workers(asked.workers).name("identifiers"));
  report all;
  all.paths = asked.paths;
  all.workers = asked.workers;
  all.result = take_census(pool, asked.paths, asked.top, asked.live ? "" : "reading");
  all.by_worker = counts_of(pool);
  if (asked.baseline) compare(pool, asked, all);
  view.reset();

  asked.json ? print_json(all, std::cout) : print_text(all, std::cout);
  print_problems(all.result, asked.paths, std::cerr);
  if (!std::cout.flush()) {
    std::cerr << "identifiers: the result could not be written; is the disk full?\n";
    return incomplete;
  }
  return all.result.problems.empty() && all.result.seen.files > 0 ? all_read : incomplete;
}

} // namespace
} // namespace identifiers

int main(int argc, char** argv) {
  try {
    identifiers::exit_status status{};
    const auto asked = identifiers::parse_options(argc, argv, status);
    return asked ? identifiers::run(*asked) : status;
  } catch (const std::exception& error) {
    std::cerr << "identifiers: " << error.what() << '\n';
    return identifiers::incomplete;
  }
}
