// Waiting in tests: every wait ends, at the latest after a bound that no working pool comes near.
#pragma once

#include <chrono>
#include <thread>

#include "support/rendezvous.hpp"

namespace rubato_test {

using namespace std::chrono_literals;

/// What takes longer than this is lost. A thousand times what any test needs, and below the time limit of a
/// test.
inline constexpr std::chrono::seconds bound = patience;

/// Long enough for idle workers, and for the monitor, to fall asleep. No test fails because a thread has not.
inline constexpr auto until_others_sleep = 25ms;

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

/// Closed until a thread opens it. Waiting blocks in the kernel, without the pool's knowledge. A waiter that
/// has seen it open may destroy it, though the opener has not returned yet.
class gate {
  milestone opened_;

public:
  void open() { opened_.reach(); }
  bool is_open() const { return opened_.reached(); }
  /// False if it was not opened within the bound.
  bool wait() const { return opened_.wait(); }
};

} // namespace rubato_test
