// SIGINT (Ctrl-C) and SIGTERM (`kill`).
#pragma once

#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>

namespace pipeline {

/// While this lives the first SIGINT or SIGTERM only requests a stop; a second one ends the process. Make it
/// before any other thread: earlier threads do not block the signals.
class interrupts {
  sigset_t caught_{};
  sigset_t before_{};
  std::stop_source stop_;
  std::atomic<int> first_{0};
  std::atomic<bool> over_{false};
  std::thread watcher_;

  void watch();

public:
  interrupts();
  interrupts(const interrupts&) = delete;
  interrupts& operator=(const interrupts&) = delete;
  ~interrupts();

  std::stop_token token() const { return stop_.get_token(); }
  /// The first signal that came, or 0.
  int signal() const { return first_.load(); }
};

} // namespace pipeline
