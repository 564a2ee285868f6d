// Waits of a test's thread for routines.
#pragma once

#include <gtest/gtest.h>

#include <chrono>

#include "support/pools.hpp"
#include "support/waiting.hpp"

namespace rubato_test {

class on_driven_workers : public on_workers {
protected:
  /// A pool without workers needs a thread that drives it.
  template<class Done>
  void run_until(Done done) {
    ASSERT_TRUE(eventually([&] {
      if (pool.size() == 0) static_cast<void>(pool.wait_idle(std::chrono::milliseconds(1)));
      return done();
    }));
  }
};

} // namespace rubato_test
