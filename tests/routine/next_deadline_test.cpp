// What sets the deadline of a routine's next post leaves the present wait alone.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "routine/driven.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::routine;
using std::chrono::steady_clock;

class next_deadlines : public on_driven_workers {};
RUBATO_TEST_WITH_WORKERS(next_deadlines, all_counts);

TEST_P(next_deadlines, regression_set_in_waits_are_for_the_next_post) {
  std::atomic<int> runs{0};
  routine r([&](routine&) { ++runs; });
  r.post_after(pool, 2ms);
  r.set_deadline(steady_clock::now() + 10h);
  run_until([&] { return runs == 1; }); // the present wait has kept its deadline
  EXPECT_TRUE(pool.wait_idle());
  r.post(pool); // with the later one
  EXPECT_FALSE(pool.wait_idle(5ms));
  EXPECT_EQ(runs, 1);
  r.wake();
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(runs, 2);
  r.post(pool); // that post has used the deadline up
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(runs, 3);
}

TEST_P(next_deadlines, regression_set_in_waits_leave_no_timer_behind) {
  for (int i = 0; i != 20; ++i) {
    std::atomic<int> runs{0};
    {
      routine r([&](routine&) { ++runs; });
      r.post_after(pool, 10h);
      r.set_wait();
      r.wake();
      EXPECT_TRUE(pool.wait_idle()); // no timer counts as armed
      EXPECT_EQ(runs, 1);
      r.post_after(pool, 10h);
      r.tighten_deadline(steady_clock::now()); // there is none to tighten: the present wait is not meant
      r.set_delay(1h);
      r.tighten_deadline(steady_clock::now());
      r.wake();
      EXPECT_TRUE(pool.wait_idle());
      r.post(pool);
      EXPECT_TRUE(pool.wait_idle());
      EXPECT_EQ(runs, 3);
    }
  }
  pool.block_on(rubato::sleep_for(1ms)); // the wheel holds no routine that is gone
}

} // namespace
