// Turns a hang into a failure with a name, before the test runner gives up on the whole process.
#pragma once

#include <gtest/gtest.h>

#include "support/scale.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

namespace rubato_test {

/// Ends the process if it is not destroyed in time. Nothing that passes comes near the bound.
class hang_guard {
public:
  hang_guard()
      : thread_([this] { watch(); }) {}
  hang_guard(hang_guard const&) = delete;
  hang_guard& operator=(hang_guard const&) = delete;

  ~hang_guard() {
    {
      std::lock_guard const lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

private:
  static std::string current_test() {
    auto const* info = testing::UnitTest::GetInstance()->current_test_info();
    return info ? std::string(info->test_suite_name()) + "." + info->name() : std::string("a test");
  }

  void watch() {
    auto const bound = std::chrono::duration<double>(100.0 * std::max(1.0, test_scale()));
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, bound, [this] { return over_; })) return;
    std::fprintf(stderr, "%s hangs: no end after %.0f s\n", name_.c_str(), bound.count());
    std::abort();
  }

  std::string const name_ = current_test();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_; // last: it uses all of the above
};

} // namespace rubato_test
