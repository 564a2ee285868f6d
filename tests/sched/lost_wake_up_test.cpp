// Guarantee W: if work is queued while a worker sleeps, another is awake and searching. Millions of chances
// to break it.
//
// None of these tests has a second task that could cover for a lost wake-up: what sleeps through one sleeps
// for ever. Without spares there is no relief that would come to the rescue, and with no time to search
// workers sleep at once. The rounds of tiny parallel regions (`lost_wake`) have pauses in between:
// RUBATO_TEST_SCALE=50 makes them a million.
#include <rubato/algorithm.hpp>
#include <rubato/join.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/hang_guard.hpp"
#include "support/jitter.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using std::chrono::microseconds;

rubato::pool_options sleepy(unsigned workers) {
  rubato::pool_options options;
  options.workers(workers).spares(0).search_time(0ns);
  return options;
}

/// Keeps the cores busy, so that every thread is often stopped between any two of its instructions.
class burden {
  std::vector<std::jthread> threads_;

public:
  explicit burden(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i) {
      threads_.emplace_back([](std::stop_token stop) {
        while (!stop.stop_requested()) {
        }
      });
    }
  }
};

/// A pause of about `steps` instructions: moves the next enqueue over the moment at which the worker falls
/// asleep.
void pause_for(unsigned steps) {
  std::atomic<unsigned> passed = 0;
  while (passed.load(std::memory_order_relaxed) < steps) passed.fetch_add(1, std::memory_order_relaxed);
}

class wake_up : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, wake_up, testing::Values(1u, 2u, 8u), testing::PrintToStringParamName());

TEST_P(wake_up, comes_for_each_single_task_from_outside) {
  rubato::pool pool(sleepy(GetParam()));
  std::atomic<unsigned> ran = 0;
  unsigned const rounds = scaled(GetParam() > 2 ? 15'000 : 60'000); // a wake of one of many takes longer
  for (unsigned round = 1; round <= rounds; ++round) {
    pause_for(round * 7 % 1'024);
    pool.enqueue([&] { ran = round; });
    ASSERT_TRUE(eventually([&] { return ran == round; })) << "round " << round;
  }
}

TEST_P(wake_up, comes_for_each_single_task_after_the_search_too) {
  // Long enough for some workers to be found searching, some falling asleep and some sleeping.
  rubato::pool pool(rubato::pool_options().workers(GetParam()).spares(0).search_time(20us));
  std::atomic<unsigned> ran = 0;
  unsigned const rounds = scaled(30'000);
  for (unsigned round = 1; round <= rounds; ++round) {
    pause_for(round * 31 % 8'192);
    pool.enqueue([&] { ran = round; });
    ASSERT_TRUE(eventually([&] { return ran == round; })) << "round " << round;
  }
}

TEST_P(wake_up, comes_on_an_oversubscribed_machine) {
  burden const others(3);
  rubato::pool pool(sleepy(GetParam()));
  std::atomic<unsigned> ran = 0;
  unsigned const rounds = scaled(150);
  for (unsigned round = 1; round <= rounds; ++round) {
    pool.enqueue([&] { ran = round; });
    ASSERT_TRUE(eventually([&] { return ran == round; })) << "round " << round;
  }
}

TEST_P(wake_up, comes_for_tasks_that_are_enqueued_in_bulk) {
  rubato::pool pool(sleepy(GetParam()));
  unsigned const rounds = scaled(10'000);
  for (unsigned round = 0; round < rounds; ++round) {
    std::atomic<unsigned> missing = 1 + round % 5;
    pool.enqueue_bulk(missing, [&](std::size_t) { --missing; });
    ASSERT_TRUE(eventually([&] { return missing == 0; })) << "round " << round;
    ASSERT_TRUE(pool.wait_idle()); // `missing` is about to go
  }
}

TEST_P(wake_up, comes_from_pool_to_pool) {
  // One token goes to and fro. Every step wakes a worker of the other pool, which has nothing else to do.
  rubato::pool a(sleepy(GetParam())), b(sleepy(GetParam()));
  std::atomic<unsigned> steps = 0;
  unsigned const last = scaled(60'000);
  struct token {
    static void step(rubato::pool& here, rubato::pool& there, std::atomic<unsigned>& n, unsigned left) {
      ++n;
      if (left > 1) there.enqueue([&here, &there, &n, left] { step(there, here, n, left - 1); });
    }
  };
  a.enqueue([&] { token::step(a, b, steps, last); });
  // Patient as long as it moves.
  for (unsigned seen = 0; seen < last;) {
    ASSERT_TRUE(eventually([&] { return steps != seen; })) << "stopped at step " << seen;
    seen = steps;
  }
}

TEST_P(wake_up, comes_for_every_producer) {
  // Four producers, each with one task at a time.
  rubato::pool pool(sleepy(GetParam()));
  std::atomic<int> lost = 0;
  unsigned const rounds = scaled(5'000);
  std::vector<std::jthread> producers;
  for (int t = 0; t < 4; ++t) {
    producers.emplace_back([&] {
      std::atomic<unsigned> ran = 0;
      for (unsigned round = 1; round <= rounds; ++round) {
        pool.enqueue([&] { ran = round; });
        if (!eventually([&] { return ran == round; })) {
          ++lost;
          break;
        }
      }
      pool.wait_idle();
    });
  }
  producers.clear();
  EXPECT_EQ(lost, 0);
}

TEST(wake_up_by_a_worker, comes_for_a_task_behind_a_computing_one) {
  // The task is in the queue of a worker that goes on computing: only the sleeping one can run it.
  rubato::pool pool(sleepy(2));
  std::atomic<unsigned> lost = 0;
  unsigned const rounds = scaled(20'000);
  for (unsigned round = 0; round < rounds; ++round) {
    std::atomic<bool> ran = false;
    pool.enqueue([&] {
      pause_for(round * 13 % 2'048);
      pool.enqueue([&] { ran = true; });
      lost += !computing_until([&] { return ran.load(); });
    });
    ASSERT_TRUE(pool.wait_idle());
    ASSERT_EQ(lost, 0u) << "round " << round;
  }
}

TEST(wake_up_by_a_worker, comes_for_each_task_behind_a_busy_one) {
  // Three further tasks that must all be under way at once: three further workers must be awake.
  rubato::pool pool(sleepy(4));
  unsigned const rounds = scaled(1'000);
  std::atomic<unsigned> met = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    rendezvous all(4);
    pool.enqueue([&] {
      for (int i = 0; i < 3; ++i) pool.enqueue([&] { met += all.meet(); });
      met += all.meet();
    });
    ASSERT_TRUE(pool.wait_idle());
    ASSERT_EQ(met, 4 * (round + 1)) << "round " << round;
  }
}

TEST(wake_up_by_a_worker, comes_for_each_of_several_from_outside) {
  rubato::pool pool(sleepy(4));
  unsigned const rounds = scaled(1'000);
  std::atomic<unsigned> met = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    rendezvous all(4);
    if (round % 2 == 0) {
      for (int i = 0; i < 4; ++i) pool.enqueue([&] { met += all.meet(); });
    } else {
      pool.enqueue_bulk(4, [&](std::size_t) { met += all.meet(); });
    }
    ASSERT_TRUE(pool.wait_idle());
    ASSERT_EQ(met, 4 * (round + 1)) << "round " << round;
  }
}

TEST(vacant_seat_wake, comes_for_a_task_as_the_only_worker_waits) {
  // A vacant seat counts as a sleeping worker: the event must bring a spare to it.
  rubato::pool pool(rubato::pool_options().workers(1).search_time(0ns));
  unsigned const rounds = scaled(2'000);
  for (unsigned round = 0; round < rounds; ++round) {
    gate opened;
    std::atomic<bool> waiting = false, passed = false;
    pool.enqueue([&] {
      passed = rubato::blocking([&] {
        waiting = true;
        return opened.wait();
      });
    });
    if (round % 2 == 0) {
      ASSERT_TRUE(eventually([&] { return waiting.load(); }));
    }
    pool.enqueue([&] { opened.open(); });
    ASSERT_TRUE(pool.wait_idle());
    ASSERT_TRUE(passed) << "round " << round;
  }
}

TEST(vacant_seat_wake, regression_comes_for_forks_of_new_threads) {
  rubato::pool pool(rubato::no_workers);
  pool.wait_idle(); // starts the pool and the monitor
  std::this_thread::sleep_for(until_others_sleep);
  pool.resize(2);
  std::this_thread::sleep_for(until_others_sleep);
  std::atomic<bool> taken = false;
  std::atomic<bool> in_time = false;
  pool.enqueue([&] {
    rubato::join([&] { in_time = eventually([&] { return taken.load(); }); }, [&] { taken = true; });
  });
  pool.wait_idle();
  EXPECT_TRUE(in_time);
}

// Tiny parallel regions: each needs a second thread to take part, and a thread to come back from a wait.
class lost_wake : public on_workers {};
RUBATO_TEST_WITH_WORKERS(lost_wake, counts_in_parallel);

class lost_wake_on_any_pool : public on_workers {};
RUBATO_TEST_WITH_WORKERS(lost_wake_on_any_pool, all_counts);

TEST_P(lost_wake, never_leaves_a_half_without_a_thread_to_take_it) {
  jitter random(1);
  for (std::size_t round = 0; round != rubato_test::scaled(4'000) && !HasFailure(); ++round) {
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
  for (std::size_t round = 0; round != rubato_test::scaled(4'000) && !HasFailure(); ++round) {
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
  for (std::size_t round = 0; round != rubato_test::scaled(4'000) && !HasFailure(); ++round) {
    rendezvous two(2);
    pool.run([&] { rubato::for_index(0, 2, [&](int) { ASSERT_TRUE(two.meet()); }); });
    random.pause(microseconds(100));
  }
}

TEST_P(lost_wake, never_leaves_a_spawn_from_outside_without_a_thread) {
  jitter random(4);
  arrivals ran;
  rubato::task_group group(pool);
  for (std::size_t round = 0; round != rubato_test::scaled(4'000) && !HasFailure(); ++round) {
    group.spawn([&] { ran.arrive(); });
    ASSERT_TRUE(ran.wait_for(round + 1));
    random.pause(microseconds(100));
    if (round % 16 == 0) group.wait();
  }
}

TEST_P(lost_wake, never_leaves_a_waiter_of_a_group_asleep) {
  jitter random(5);
  for (std::size_t round = 0; round != rubato_test::scaled(1'000) && !HasFailure(); ++round) {
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
      for (std::size_t round = 0; round != rubato_test::scaled(1'000) && !HasFailure(); ++round) {
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
  for (std::size_t round = 0; round != rubato_test::scaled(10'000) && !HasFailure(); ++round) {
    std::atomic<int> sum{0};
    pool.run([&] { rubato::for_index(0, static_cast<int>(round % 5), [&](int i) { sum += i; }); });
    int const n = static_cast<int>(round % 5);
    ASSERT_EQ(sum.load(), n * (n - 1) / 2);
    if (round % 8 == 0) random.pause(microseconds(60));
  }
}

// The first fork after a sleep wakes a worker instead of the monitor: later forks are found all the same.
// The pause is long enough for workers and the monitor to fall asleep. If they have not, the test passes as
// well.
TEST(lost_wake, regression_each_sleeper_gets_a_half_of_one_forker) {
  hang_guard const guard;
  rubato::pool pool(4);
  for (int round = 0; round != 20; ++round) {
    std::this_thread::sleep_for(until_others_sleep);
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

TEST(lost_wake, regression_each_sleeper_gets_a_child_of_a_scope) {
  hang_guard const guard;
  rubato::pool pool(4);
  for (int round = 0; round != 20; ++round) {
    std::this_thread::sleep_for(until_others_sleep);
    arrivals begun; // the children outlive the body
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
