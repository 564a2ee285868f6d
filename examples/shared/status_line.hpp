// A line on the terminal that shows the program's progress.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

namespace example {

/// Written anew a few times per second, by whichever thread has just done something. If standard error is no
/// terminal nothing is written.
class status_line {
  using clock = std::chrono::steady_clock;

  const bool shown_;
  std::atomic<clock::rep> next_; // when it is due again; the thread that moves it on writes the line

public:
  status_line();
  status_line(const status_line&) = delete;
  status_line& operator=(const status_line&) = delete;
  ~status_line(); ///< clears the line

  /// True if standard error is a terminal.
  bool shown() const { return shown_; }
  /// Both from any thread. Returns true to one caller at a time, which then writes.
  bool due();
  static void write(const std::string& text);
};

} // namespace example
