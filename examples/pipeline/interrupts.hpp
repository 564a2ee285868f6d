// Ctrl-C, and what `kill` sends.
#pragma once

#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>

namespace pipeline {

/// While this lives SIGINT and SIGTERM only ask to stop; a second one ends the process after all. To be made
/// before there is any other thread, for those that exist already are not protected from the signals.
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
