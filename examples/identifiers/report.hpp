// The program's output.
#pragma once

#include "census.hpp"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace identifiers {

/// The counters of one worker.
struct worker_counts {
  std::uint64_t run = 0;    ///< tasks it ran
  std::uint64_t handed = 0; ///< halves of work that it handed to a worker that asked
  std::uint64_t taken = 0;  ///< halves of work that it took from a worker that did not answer
};

/// The same count again, several times in turn by one worker and by all. Both find the files in memory, which
/// the first count may not have. The range of the rounds' speed-ups shows how quiet the machine was.
struct comparison {
  double one_worker_seconds = 0; ///< medians
  double seconds = 0;
  double lowest = 0;
  double highest = 0;
  [[nodiscard]] double speedup() const { return one_worker_seconds / seconds; }
};

struct report {
  std::vector<std::string> paths;
  unsigned workers = 0;
  census result;
  std::vector<worker_counts> by_worker;
  std::optional<comparison> compared;
  std::string why_not_compared; ///< if it was wanted and makes no sense
};

/// The table, a line per identifier as `uniq -c` writes it, an empty line, and the figures.
void print_text(const report& all, std::ostream& out);
void print_json(const report& all, std::ostream& out);
/// The files that could not be read; advice if there were no files.
void print_problems(const census& result, const std::vector<std::string>& paths, std::ostream& out);

} // namespace identifiers
