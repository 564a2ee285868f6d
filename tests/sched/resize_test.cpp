// Changing the number of workers of a living pool: up, down, to none, by any thread, at any time.
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/counting.hpp"
#include "support/scale.hpp"
#include "support/trees.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

TEST(resize, returns_the_old_target_and_takes_effect_at_once) {
  rubato::pool pool(2);
  EXPECT_EQ(pool.resize(5), 2u);
  EXPECT_EQ(pool.size(), 5u);
  EXPECT_EQ(pool.resize(1), 5u);
  EXPECT_EQ(pool.resize(0), 1u);
  EXPECT_EQ(pool.size(), 0u);
  EXPECT_EQ(pool.resize(3), 0u);
  EXPECT_EQ(pool.resize(3), 3u);
  EXPECT_EQ(pool.size(), 3u);
}

TEST(resize, up_gives_work_in_hand_to_the_new_workers) {
  rubato::pool pool(rubato::pool_options().workers(1).spares(0));
  rendezvous all(4);
  std::atomic<int> met = 0;
  for (int i = 0; i < 4; ++i) pool.enqueue([&] { met += all.meet(); });
  pool.resize(4);
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(met, 4);
}

TEST(resize, up_helps_a_pool_whose_only_worker_is_blocked) {
  // No spares, no relief: only the new worker can open the gate.
  rubato::pool pool(rubato::pool_options().workers(1).spares(0));
  gate opened;
  std::atomic<bool> passed = false, begun = false;
  pool.enqueue([&] {
    begun = true;
    passed = opened.wait();
  });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  pool.enqueue([&] { opened.open(); });
  pool.resize(2);
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(passed);
}

TEST(resize, down_does_not_wait_for_what_runs) {
  rubato::pool pool(2);
  gate finish;
  std::atomic<int> begun = 0, done = 0;
  for (int i = 0; i < 2; ++i) {
    pool.enqueue([&] {
      ++begun;
      done += finish.wait();
    });
  }
  ASSERT_TRUE(eventually([&] { return begun == 2; }));
  EXPECT_EQ(pool.resize(0), 2u); // it would wait here for ever: no other thread opens the gate
  finish.open();
  EXPECT_TRUE(eventually([&] { return done == 2; }));
}

TEST(resize, down_loses_no_task_of_the_retired) {
  for (unsigned left : {0u, 1u, 3u}) {
    SCOPED_TRACE(left);
    rubato::pool pool(6);
    tally tasks(6 * 500);
    rendezvous all(6);
    std::atomic<unsigned> next = 0;
    // Every worker fills its own queue and is retired with it.
    for (int i = 0; i < 6; ++i) {
      pool.enqueue([&] {
        unsigned const first = next.fetch_add(500);
        for (unsigned k = first; k < first + 500; ++k) pool.enqueue([&tasks, k] { tasks.hit(k); });
        EXPECT_TRUE(all.meet());
        pool.resize(left);
      });
    }
    ASSERT_TRUE(pool.wait_idle()); // drives the pool where no worker is left
    tasks.expect_each_once();
    EXPECT_EQ(pool.size(), left);
  }
}

TEST(resize, to_zero_keeps_the_work_until_there_are_workers_again) {
  rubato::pool pool(2);
  EXPECT_TRUE(pool.wait_idle());
  pool.resize(0);
  tally tasks(100);
  for (unsigned i = 0; i < 100; ++i) pool.enqueue([&tasks, i] { tasks.hit(i); });
  pool.resize(1);
  EXPECT_TRUE(pool.wait_idle());
  tasks.expect_each_once();
}

TEST(resize, from_a_task_up) {
  rubato::pool pool(rubato::pool_options().workers(1).spares(0));
  rendezvous all(4);
  std::atomic<int> met = 0;
  std::atomic<unsigned> old = 99;
  pool.enqueue([&] {
    old = pool.resize(4);
    for (int i = 0; i < 3; ++i) pool.enqueue([&] { met += all.meet(); });
    met += all.meet();
  });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(met, 4);
  EXPECT_EQ(old, 1u);
}

TEST(resize, from_a_task_down_to_nothing) {
  rubato::pool pool(3);
  std::atomic<bool> after = false;
  pool.enqueue([&] {
    pool.resize(0);
    after = forked_sum(0, 1'000) == sum_below(1'000);
  });
  EXPECT_TRUE(eventually([&] { return after.load(); }));
  EXPECT_EQ(pool.size(), 0u);
}

TEST(resize, from_a_task_of_another_pool) {
  rubato::pool a(1), b(1);
  a.enqueue([&] { b.resize(3); });
  EXPECT_TRUE(a.wait_idle());
  EXPECT_EQ(b.size(), 3u);
}

TEST(resize, from_several_threads_returns_each_target_to_one_call) {
  constexpr unsigned threads = 4, largest = 8;
  unsigned const rounds = scaled(300);
  rubato::pool pool(3);
  std::array<std::atomic<long>, largest + 1>
      balance{}; // how often it was set, minus how often it was returned
  ++balance[3];
  {
    std::vector<std::jthread> resizers;
    for (unsigned t = 0; t < threads; ++t) {
      resizers.emplace_back([&, t] {
        for (unsigned i = 0; i < rounds; ++i) {
          unsigned const target = (i * 7 + t * 5) % (largest + 1);
          ++balance[target];
          --balance[pool.resize(target)];
        }
      });
    }
  }
  --balance[pool.size()];
  for (auto const& b : balance) EXPECT_EQ(b, 0);
  pool.resize(1);
  std::atomic<bool> ran = false;
  pool.enqueue([&] { ran = true; });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(ran);
}

TEST(resize, in_the_middle_of_joins_loses_nothing) {
  rubato::pool pool(2);
  std::atomic<unsigned> right = 0;
  std::jthread resizer([&](std::stop_token stop) {
    for (unsigned i = 0; !stop.stop_requested(); ++i) {
      pool.resize(i * 5 % 7);
      if (i % 16 == 0) std::this_thread::sleep_for(200us);
    }
  });
  unsigned const rounds = scaled(300);
  for (unsigned i = 0; i < rounds; ++i) {
    pool.enqueue([&] { right += forked_sum(0, 500) == sum_below(500); });
    if (pool.run([] { return forked_sum(0, 300); }) != sum_below(300)) ADD_FAILURE() << "a wrong sum in run";
  }
  resizer = {};
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(right, rounds);
}

TEST(resize, does_not_starve_a_task_that_came_between_none_and_one) {
  // Each round: the worker leaves, a task comes, a worker comes. A thread that sleeps through that hangs the
  // test.
  rubato::pool pool(rubato::pool_options().workers(1).spares(0).search_time(0ns));
  for (unsigned round = 0; round < scaled(1'500); ++round) {
    std::atomic<bool> ran = false;
    std::jthread const other([&] { pool.enqueue([&] { ran = true; }); });
    pool.resize(0);
    pool.resize(1 + round % 3);
    ASSERT_TRUE(eventually([&] { return ran.load(); })) << "round " << round;
  }
}

TEST(resize, allows_1024_workers) {
  rubato::pool pool(rubato::pool_options().workers(1).spares(0).stack_size(std::size_t{256} << 10));
  EXPECT_EQ(pool.resize(1'024), 1u);
  EXPECT_EQ(pool.size(), 1'024u);
  gate all_are_here;
  std::atomic<unsigned> arrived = 0, met = 0;
  for (unsigned i = 0; i < 1'024; ++i) {
    pool.enqueue([&] {
      if (++arrived == 1'024) all_are_here.open();
      met += all_are_here.wait();
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(met, 1'024u);
  EXPECT_EQ(pool.resize(1), 1'024u);
  std::atomic<bool> ran = false;
  pool.enqueue([&] { ran = true; });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(ran);
}

/// The task that the new worker runs lets the owner destroy the pool, while resize() has not returned.
TEST(resize, regression_is_over_when_the_pool_can_go) {
  for (int i = 0; i != 300; ++i) {
    auto pool = std::make_unique<rubato::pool>(rubato::no_workers);
    std::atomic<bool> ran = false;
    pool->enqueue([&] { ran = true; });
    std::jthread const resizes([&p = *pool] { p.resize(1); });
    ASSERT_TRUE(rubato_test::eventually([&] { return ran.load(); }));
    pool.reset();
  }
}

TEST(resize, refuses_more_than_1024_workers) {
  rubato::pool pool(1);
  EXPECT_THROW(pool.resize(1'025), std::invalid_argument);
  EXPECT_EQ(pool.size(), 1u);
  EXPECT_THROW(rubato::pool(1'025u), std::invalid_argument);
}

TEST(resize, regression_minus_one_is_no_number_of_workers) {
  EXPECT_THROW(rubato::pool(~0u), std::invalid_argument);
  try {
    rubato::pool(static_cast<unsigned>(-1));
    ADD_FAILURE() << "it was accepted";
  } catch (std::invalid_argument const& e) {
    EXPECT_STREQ(e.what(), "rubato: a pool has at most 1,024 workers, not a negative number");
  }
  EXPECT_THROW(rubato::pool(rubato::pool_options().workers(~0u)), std::invalid_argument);
}

} // namespace
