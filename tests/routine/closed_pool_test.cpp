// Routines that are posted to a pool that was shut down.
#include <gtest/gtest.h>

#include "support/pools.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>

namespace {

using namespace std::chrono_literals;

class closed_routines : public rubato_test::on_workers {};
RUBATO_TEST_WITH_WORKERS(closed_routines, all_counts);

TEST_P(closed_routines, regression_are_refused_by_a_closed_pool) {
  std::atomic<int> runs{0};
  rubato::routine r([&](rubato::routine&) { ++runs; });
  rubato::pool mortal(1);
  mortal.shutdown();
  EXPECT_THROW(r.post(mortal), rubato::cancelled);
  EXPECT_THROW(r.post_wait(mortal), rubato::cancelled);
  mortal.resize(1);
  mortal.wait_idle();
  EXPECT_EQ(runs, 0);
  r.set_delay(0s); // of the next post: post_wait() has set another one
  r.post(mortal);
  mortal.wait_idle();
  EXPECT_EQ(runs, 1);
}

/// Its callback has posted it to a pool that closes before the callback returns.
TEST_P(closed_routines, regression_are_idle_if_the_next_pool_closes) {
  std::atomic<int> runs{0};
  rubato::pool next(1);
  rubato::routine r([&](rubato::routine& self) {
    if (runs++ != 0) return;
    self.post(next);
    next.shutdown();
  });
  r.post(pool);
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(next.pending(), 0U);
  next.resize(1);
  r.post(next);
  EXPECT_TRUE(next.wait_idle());
  EXPECT_EQ(runs, 2);
}

} // namespace
