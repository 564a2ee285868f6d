// What the programs of bench/pause.py have in common: tasks that note when the first of them begins on a
// second thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace bench {

/// One burst: tasks of 100 us each, counted from when the first one is made.
class burst {
  using clock = std::chrono::steady_clock;
  std::thread::id caller_;
  clock::time_point begin_;
  std::atomic<double> second_;

public:
  static constexpr int tasks = 40;

  void begin() {
    caller_ = std::this_thread::get_id();
    second_ = std::numeric_limits<double>::infinity(); // no second thread at all
    begin_ = clock::now();
  }
  void task() {
    auto const now = clock::now();
    if (std::this_thread::get_id() != caller_) {
      double expected = std::numeric_limits<double>::infinity();
      second_.compare_exchange_strong(expected,
                                      std::chrono::duration<double, std::micro>(now - begin_).count());
    }
    while (clock::now() - now < std::chrono::microseconds(100)) {
    }
  }
  [[nodiscard]] double second_after_us() const { return second_; }
};

/// The arguments of such a program: KIND PAUSE_US BURSTS. Prints the median and the 90th and 99th percentile
/// of the time after which a second thread begins a task, in us. `run(kind, burst)` makes a burst.
template<class Run>
int drive(int argc, char** argv, char const* name, Run run) {
  if (argc != 4) return std::fprintf(stderr, "usage: %s scope|join|loop PAUSE_US BURSTS\n", argv[0]), 2;
  std::vector<double> all;
  burst b;
  for (int i = 0; i != std::atoi(argv[3]); ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(std::atoi(argv[2])));
    run(argv[1], b);
    all.push_back(b.second_after_us());
  }
  std::sort(all.begin(), all.end());
  std::printf("%s %.1f %.1f %.1f\n", name, all[all.size() / 2], all[all.size() * 9 / 10],
              all[all.size() * 99 / 100]);
  return 0;
}

} // namespace bench
