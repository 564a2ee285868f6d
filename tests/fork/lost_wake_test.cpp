// Many rounds of tiny parallel regions with sleep in between. Each needs a second thread to take part, and
// a thread to come back from a wait; a wake-up lost once is a round that never ends. RUBATO_TEST_SCALE=50
// makes it a million.
#include <gtest/gtest.h>

#include "support/hang_guard.hpp"
#include "support/jitter.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/join.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

using namespace rubato_test;
using std::chrono::microseconds;

namespace {

class lost_wake : public on_workers {};
RUBATO_TEST_WITH_WORKERS(lost_wake, counts_in_parallel);

class lost_wake_on_any_pool : public on_workers {};
RUBATO_TEST_WITH_WORKERS(lost_wake_on_any_pool, all_counts);

TEST_P(lost_wake, never_leaves_a_half_without_a_thread_to_take_it) {
  jitter random(1);
  for (std::size_t round = 0; round != scaled(4'000) && !HasFailure(); ++round) {
    milestone begun;
    pool.run([&] {
      rubato::join([&] { ASSERT_TRUE(begun.wait()); },
                   [&] {
                     begun.reach();
                     random.pause(microseconds(60)); // the joiner is on its way to sleep when this ends
                   });
    });
    random.pause(microseconds(100)); // and so are the workers when the next one begins
  }
}

TEST_P(lost_wake, never_leaves_a_child_without_a_thread_to_take_it) {
  jitter random(2);
  for (std::size_t round = 0; round != scaled(4'000) && !HasFailure(); ++round) {
    milestone ran;
    pool.run([&] {
      rubato::with_scope([&](rubato::scope& s) {
        s.spawn([&] { ran.reach(); });
        ASSERT_TRUE(ran.wait());
      });
    });
    random.pause(microseconds(100));
  }
}

TEST_P(lost_wake, never_leaves_an_index_without_a_thread_to_take_it) {
  jitter random(3);
  for (std::size_t round = 0; round != scaled(4'000) && !HasFailure(); ++round) {
    rendezvous two(2);
    pool.run([&] { rubato::for_index(0, 2, [&](int) { ASSERT_TRUE(two.meet()); }); });
    random.pause(microseconds(100));
  }
}

TEST_P(lost_wake, never_leaves_a_spawn_from_outside_without_a_thread_to_take_it) {
  jitter random(4);
  arrivals ran;
  rubato::task_group group(pool);
  for (std::size_t round = 0; round != scaled(4'000) && !HasFailure(); ++round) {
    group.spawn([&] { ran.arrive(); });
    ASSERT_TRUE(ran.wait_for(round + 1));
    random.pause(microseconds(100));
    if (round % 16 == 0) group.wait();
  }
}

TEST_P(lost_wake, never_leaves_a_waiter_of_a_group_asleep) {
  jitter random(5);
  for (std::size_t round = 0; round != scaled(1'000) && !HasFailure(); ++round) {
    milestone begun;
    rubato::task_group group(pool);
    group.spawn([&] {
      begun.reach();
      random.pause(microseconds(80));
    });
    ASSERT_TRUE(begun.wait());
    std::thread other([&] { group.wait(); });
    group.wait();
    other.join();
  }
}

TEST_P(lost_wake, never_happens_with_many_regions_at_once) {
  constexpr std::size_t threads = 5;
  std::vector<std::thread> outside;
  for (std::size_t t = 0; t != threads; ++t) {
    outside.emplace_back([&, t] {
      jitter random(static_cast<std::uint32_t>(100 + t));
      for (std::size_t round = 0; round != scaled(1'000) && !HasFailure(); ++round) {
        std::atomic<int> sum{0};
        rubato::join(
            pool, [&] { rubato::for_index(0, 4, [&](int) { ++sum; }); },
            [&] {
              rubato::with_scope([&](rubato::scope& s) {
                s.spawn([&] { ++sum; });
                s.spawn([&] { ++sum; });
              });
            });
        ASSERT_EQ(sum.load(), 6);
        random.pause(microseconds(100));
      }
    });
  }
  for (auto& thread : outside) thread.join();
}

TEST_P(lost_wake_on_any_pool, never_hangs_a_row_of_tiny_regions) {
  jitter random(6);
  for (std::size_t round = 0; round != scaled(10'000) && !HasFailure(); ++round) {
    std::atomic<int> sum{0};
    pool.run([&] { rubato::for_index(0, static_cast<int>(round % 5), [&](int i) { sum += i; }); });
    int const n = static_cast<int>(round % 5);
    ASSERT_EQ(sum.load(), n * (n - 1) / 2);
    if (round % 8 == 0) random.pause(microseconds(60));
  }
}

// The first fork after a sleep wakes a worker instead of the monitor: later forks are found all the same.
// Long enough for workers and the monitor to fall asleep. If they have not, the test passes as well.
void let_others_sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(25)); }

TEST(lost_wake, regression_each_of_several_sleepers_gets_a_half_though_one_thread_forks) {
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

TEST(lost_wake, regression_each_of_several_sleepers_gets_a_child_of_a_scope) {
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
