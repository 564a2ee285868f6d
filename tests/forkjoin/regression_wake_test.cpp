// The first fork after a sleep wakes a worker instead of the watch: what is forked later is found all the
// same.
#include <rubato/join.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/hang_guard.hpp"
#include "support/rendezvous.hpp"

namespace {

using rubato_test::hang_guard;
using rubato_test::milestone;

// Long enough for workers and the watch to fall asleep. If they have not, the test passes as well.
void let_others_sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(25)); }

TEST(regression_wake, each_of_several_sleepers_gets_a_half_though_one_thread_forks) {
  hang_guard const guard;
  rubato::pool pool(4);
  for (int round = 0; round != 20; ++round) {
    let_others_sleep();
    pool.run([] {
      milestone first, second, third;
      rubato::join(
          [&] {
            EXPECT_TRUE(first.compute_until());
            rubato::join(
                [&] {
                  EXPECT_TRUE(second.compute_until());
                  rubato::join([&] { EXPECT_TRUE(third.compute_until()); }, [&] { third.reach(); });
                },
                [&] {
                  second.reach();
                  EXPECT_TRUE(third.compute_until());
                });
          },
          [&] {
            first.reach();
            EXPECT_TRUE(third.compute_until());
          });
    });
  }
}

TEST(regression_wake, each_of_several_sleepers_gets_a_child_of_a_scope) {
  hang_guard const guard;
  rubato::pool pool(4);
  for (int round = 0; round != 20; ++round) {
    let_others_sleep();
    rubato_test::arrivals begun; // the children outlive the body
    rubato::with_scope(pool, [&begun](rubato::scope& s) {
      for (int i = 0; i != 3; ++i)
        s.spawn([&] {
          begun.arrive();
          EXPECT_TRUE(begun.wait_for(3));
        });
      EXPECT_TRUE(begun.wait_for(3)); // the body itself begins none
    });
  }
}

} // namespace
