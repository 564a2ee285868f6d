// identifiers DIR: counts every identifier in a source tree, all on one pool.
#include "census.hpp"
#include "options.hpp"
#include "report.hpp"
#include "shared/system.hpp"

#include <rubato/pool.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

namespace identifiers {
namespace {

std::vector<worker_counts> counts_of(const rubato::pool& pool) {
  std::vector<worker_counts> counts;
  const auto stats = pool.stats();
  for (const auto& seat : stats.seats) counts.push_back({seat.executed, seat.handed, seat.taken});
  return counts;
}

/// Counts again with one worker, and again with all, for the first count may have read from a disk what is in
/// memory by now.
void compare(rubato::pool& pool, const options& asked, report& all) {
  if (asked.workers <= 1) return;
  if (all.result.seen.streams > 0) {
    all.why_not_compared = "a FIFO or a device cannot be read twice";
    return;
  }
  rubato::pool single(1u);
  const census slow = take_census(single, asked.paths, asked.top, "again with one worker");
  const census fast = take_census(pool, asked.paths, asked.top, "again with all");
  if (slow.total != all.result.total || fast.total != all.result.total) {
    all.why_not_compared = "the files change while they are read";
    return;
  }
  if (all.result.seen.files == 0 || slow.seconds < 0.01) {
    all.why_not_compared = "there is too little to measure";
    return;
  }
  all.compared = comparison{slow.seconds, std::min(fast.seconds, all.result.seconds)};
}

exit_status run(const options& asked) {
  example::raise_open_file_limit();
  rubato::pool pool(rubato::pool_options().workers(asked.workers).name("identifiers"));
  report all;
  all.paths = asked.paths;
  all.workers = asked.workers;
  all.result = take_census(pool, asked.paths, asked.top, "reading");
  all.by_worker = counts_of(pool);
  if (asked.baseline) compare(pool, asked, all);

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
