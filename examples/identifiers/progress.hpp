// The program's progress, shown on the terminal.
#pragma once

#include "shared/status_line.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace identifiers {

/// If standard error is no terminal, or the label is empty, nothing is written, and nothing is counted
/// either.
class progress {
  const std::string label_;
  // relaxed: no other access depends on the order of these counters.
  std::atomic<std::uint64_t> files_{0};
  std::atomic<std::uint64_t> bytes_{0};
  example::status_line line_;

  std::string text() const;

public:
  explicit progress(std::string label);

  /// From any thread.
  void add(std::uint64_t files, std::uint64_t bytes) {
    if (label_.empty() || !line_.shown()) return;
    files_.fetch_add(files, std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (line_.due()) line_.write(text());
  }
};

} // namespace identifiers
