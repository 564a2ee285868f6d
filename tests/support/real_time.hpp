// Threads of different priorities on one CPU. There a real-time thread that waits awake keeps the thread that
// it waits for from running, until the kernel interferes, about a second later.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <ctime>
#include <thread>
#include <utility>

#include "support/scale.hpp"
#include "support/threads.hpp"

namespace rubato_test {

/// How long the calling thread has run, without its sleeps.
inline std::chrono::nanoseconds cpu_time_of_this_thread() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// The scheduling class of the calling thread: SCHED_FIFO or SCHED_OTHER. False: the kernel refuses.
inline bool become(int policy) {
  sched_param const p{.sched_priority = policy == SCHED_OTHER ? 0 : 10};
  return ::sched_setscheduler(0, policy, &p) == 0;
}

/// Checks that no wait keeps its thread awake for anything like that second.
/// False: this one did, and the test may end.
template<class Wait>
[[nodiscard]] bool waits_asleep(Wait wait) {
  constexpr std::chrono::milliseconds limit{200};
  auto const begin = cpu_time_of_this_thread();
  wait();
  auto const computed = cpu_time_of_this_thread() - begin;
  EXPECT_LT(computed, limit) << "of CPU time in one wait";
  return computed < limit;
}

/// Base of tests whose threads share one CPU.
class on_one_cpu : public testing::Test {
protected:
  int const cpu = *cpus_of_this_thread().begin();

  void SetUp() override {
    if (under_tsan || under_asan) GTEST_SKIP() << "the locks of the sanitizer spin";
    bool may = false;
    std::thread([&] { may = become(SCHED_FIFO); }).join();
    if (!may) GTEST_SKIP() << "SCHED_FIFO is refused: it needs root";
  }

  template<class F>
  std::thread start(int policy, F f) const {
    return std::thread([this, policy, f = std::move(f)]() mutable {
      EXPECT_TRUE(restrict_this_thread_to(cpu) && become(policy));
      f();
    });
  }
  /// It computes first: a new kernel lets ordinary threads go before real-time ones for 50 ms in a second.
  template<class F>
  std::thread ordinary(F f) const {
    return start(SCHED_OTHER, [f = std::move(f)]() mutable {
      auto const begin = cpu_time_of_this_thread();
      while (cpu_time_of_this_thread() - begin < std::chrono::microseconds(500)) {
      }
      f();
    });
  }
  template<class F>
  void run_in_real_time(F f) const {
    start(SCHED_FIFO, std::move(f)).join();
  }
};

} // namespace rubato_test
