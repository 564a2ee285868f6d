// Tells a waiting person how far the program has come.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace identifiers {

/// One line on the terminal, written anew a few times per second by whichever thread has just read something.
/// If standard error is no terminal nothing is written, and nothing is counted either.
class progress {
  using clock = std::chrono::steady_clock;

  const bool shown_;
  const std::string label_;
  // Counters that nothing else is ordered by.
  std::atomic<std::uint64_t> files_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<clock::rep> next_; // when the line is due again; who moves it on writes the line

  void write_if_due();

public:
  explicit progress(std::string label);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress(); ///< clears the line

  /// From any thread.
  void add(std::uint64_t files, std::uint64_t bytes) {
    if (!shown_) return;
    files_.fetch_add(files, std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    write_if_due();
  }
};

} // namespace identifiers
