// A line on the terminal that tells a waiting person how far the program has come.
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
  std::atomic<clock::rep> next_; // when it is due again; who moves it on writes the line

public:
  status_line();
  status_line(const status_line&) = delete;
  status_line& operator=(const status_line&) = delete;
  ~status_line(); ///< clears the line

  /// Is there anybody to read it?
  bool shown() const { return shown_; }
  /// Both from any thread. True to one caller a time, who is to write.
  bool due();
  static void write(const std::string& text);
};

} // namespace example
