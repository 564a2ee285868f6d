// Waiting in tests: every wait ends, at the latest after a bound that no working pool comes near.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "support/rendezvous.hpp"

namespace pool_test {

using namespace std::chrono_literals;

using rubato_test::rendezvous;

/// What takes longer than this is lost. A thousand times what any test needs, and below the time limit of a
/// test.
inline constexpr std::chrono::seconds bound = rubato_test::patience;

/// Waits until `done()`; false if the bound is reached. Gives up the core meanwhile.
template<class Predicate>
bool eventually(Predicate&& done) {
  auto const end = std::chrono::steady_clock::now() + bound;
  for (unsigned round = 0; !done(); ++round) {
    if (round < 200) {
      std::this_thread::yield();
    } else {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(round < 2'000 ? 50us : 1ms);
    }
  }
  return true;
}

/// The same, but computing: to the kernel and to the pool it is a long leaf that never blocks.
template<class Predicate>
bool computing_until(Predicate&& done) {
  auto const end = std::chrono::steady_clock::now() + bound;
  for (unsigned round = 1; !done(); ++round) {
    if (round % 4'096 == 0 && std::chrono::steady_clock::now() > end) return false;
  }
  return true;
}

/// Closed until somebody opens it. Waiting blocks in the kernel, without the pool's knowledge. Whoever has
/// seen it open may destroy it, though the one who opened it has not returned yet.
class gate {
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;

public:
  void open() {
    std::lock_guard const lock(mutex_);
    open_ = true;
    changed_.notify_all(); // under the lock: whoever waits may destroy the gate next
  }
  bool is_open() {
    std::lock_guard const lock(mutex_);
    return open_;
  }
  /// False if nobody opened it within the bound.
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, bound, [this] { return open_; });
  }
};

} // namespace pool_test
