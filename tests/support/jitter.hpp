// Irregular pauses, so that rounds of a stress test find the workers in every state on their way to sleep.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <thread>

namespace rubato_test {

/// One per thread. The pauses vary from nothing to about `longest`; no test depends on how long they are.
class jitter {
public:
  explicit jitter(std::uint32_t seed)
      : random_(seed) {}

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  void pause(std::chrono::microseconds longest) {
    auto const length = std::chrono::microseconds(below(static_cast<std::uint32_t>(longest.count()) + 1));
    switch (below(4)) {
    case 0:
      break;
    case 1:
      std::this_thread::yield();
      break;
    case 2:
      spin(length);
      break;
    default:
      std::this_thread::sleep_for(length);
      break;
    }
  }

  static void spin(std::chrono::microseconds length) {
    auto const end = std::chrono::steady_clock::now() + length;
    while (std::chrono::steady_clock::now() < end) {
    }
  }

private:
  std::minstd_rand random_;
};

} // namespace rubato_test
