// For loops and scopes that must begin nothing new after an exception or a stop.
#pragma once

#include "support/rendezvous.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace rubato_test {

/// Every body calls begin(). After close() bodies may still begin for as long as news travels and a chunk
/// lasts, but a bounded number only: each such body naps, and one that begins `patience` after the end is a
/// failure.
class closing_time {
public:
  void close() { closed_at_.store(clock::now().time_since_epoch().count()); }

  void begin() {
    auto const closed = closed_at_.load();
    if (closed == 0) return;
    if (clock::now() - clock::time_point(clock::duration(closed)) > patience) {
      overdue_.store(true);
      return; // no more naps: let the loop run out, if it can
    }
    std::this_thread::sleep_for(std::chrono::microseconds(10));
  }

  /// Work was still begun when everything should long have ended.
  bool overdue() const { return overdue_.load(); }

private:
  using clock = std::chrono::steady_clock;
  std::atomic<clock::rep> closed_at_{0};
  std::atomic<bool> overdue_{false};
};

} // namespace rubato_test
