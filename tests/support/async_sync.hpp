// Fixtures and helpers of the tests of locks, channels and generators.
#pragma once

#include <gtest/gtest.h>

#include "support/hang_guard.hpp"
#include "support/jitter.hpp"
#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <cstddef>
#include <vector>

namespace rubato_test {

/// Everything that was spawned waits, or has ended.
inline void let_all_wait(rubato::pool& pool) { EXPECT_TRUE(pool.wait_idle()); }

template<class T>
void get_all(std::vector<rubato::future<T>>& futures) {
  for (auto& f : futures) f.get();
  futures.clear();
}

/// Counts the coroutines inside, and their maximum.
class occupancy {
  std::atomic<int> inside_{0};
  std::atomic<int> most_{0};

public:
  void enter() {
    int const now = inside_.fetch_add(1) + 1;
    int seen = most_.load();
    while (seen < now && !most_.compare_exchange_weak(seen, now)) {
    }
  }
  void leave() { inside_.fetch_sub(1); }
  int inside() const { return inside_; }
  int most() const { return most_; }
};

} // namespace rubato_test
