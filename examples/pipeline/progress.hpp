// The program's progress, shown on the terminal.
#pragma once

#include "shared/status_line.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace pipeline {

/// A bar on the terminal: how many of the files that have been found are done. If standard error is no
/// terminal nothing is written, and nothing is counted either. All functions may be called from any thread.
class progress {
  // relaxed: no other access depends on the order of these counters.
  std::atomic<std::uint64_t> found_{0};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> bytes_{0};
  example::status_line line_;

  std::string text() const;
  void add(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
    if (!line_.shown()) return;
    counter.fetch_add(n, std::memory_order_relaxed);
    if (line_.due()) line_.write(text());
  }

public:
  void found(std::uint64_t files) { add(found_, files); }
  void read(std::uint64_t bytes) { add(bytes_, bytes); }
  void finished_one() { add(done_, 1); }
};

} // namespace pipeline
