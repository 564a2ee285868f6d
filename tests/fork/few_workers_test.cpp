// No workers, or one: everything still ends, and where only one thread runs, things run one by one.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/tally.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/join.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <atomic>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

using namespace rubato_test;

namespace {

class few_workers : public on_workers {};
RUBATO_TEST_WITH_WORKERS(few_workers, counts_alone);

/// Everything that fork-join has, one inside the other.
int everything(int depth) {
  if (depth == 0) return 1;
  std::atomic<int> sum{0};
  rubato::task_group group;
  group.spawn([&] { sum += everything(depth - 1); });
  rubato::with_scope([&](rubato::scope& s) {
    s.spawn([&] { sum += everything(depth - 1); });
    auto [a, b] = rubato::join([&] { return everything(depth - 1); }, [&] { return everything(depth - 1); });
    sum += a + b;
    s.wait();
  });
  rubato::for_index(0, 2, [&](int) { sum += everything(depth - 1); });
  group.wait();
  sum += rubato::reduce(std::vector<int>{0, 0}, 0, std::plus<>{},
                        [&](int n) { return n + everything(depth - 1); });
  return sum;
}

int expected(int depth) { return depth == 0 ? 1 : 8 * expected(depth - 1); }

TEST_P(few_workers, finish_everything_in_everything) {
  EXPECT_EQ(pool.run([] { return everything(3); }), expected(3));
}

TEST_P(few_workers, finish_everything_for_many_outside_threads) {
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t != 4; ++t) {
    threads.emplace_back([&] { sum += pool.run([] { return everything(2); }); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(sum.load(), 4 * expected(2));
}

TEST_P(few_workers, finish_everything_in_queued_tasks) {
  std::atomic<int> sum{0};
  for (int i = 0; i != 10; ++i) pool.enqueue([&] { sum += everything(2); });
  pool.wait_idle();
  EXPECT_EQ(sum.load(), 10 * expected(2));
}

TEST_P(few_workers, run_both_halves_on_the_calling_thread) {
  on_only_thread(pool, [] {
    auto const me = std::this_thread::get_id();
    auto const here = [me] { return std::this_thread::get_id() == me; };
    for (int i = 0; i != 1'000; ++i) ASSERT_EQ(rubato::join(here, here), (std::pair(true, true)));
  });
}

TEST_P(few_workers, run_f_before_g) {
  on_only_thread(pool, [] {
    for (int i = 0; i != 1'000; ++i) {
      int step = 0; // no atomic: one thread
      rubato::join([&] { ASSERT_EQ(step++, 0); }, [&] { ASSERT_EQ(step++, 1); });
      ASSERT_EQ(step, 2);
    }
  });
}

TEST_P(few_workers, begin_the_second_half_only_after_the_first) {
  // A half that waits for its group member would hang here, so a scope or a loop must not depend on two
  // threads either.
  std::atomic<int> running{0};
  std::atomic<int> at_once{0};
  auto const visit = [&] {
    if (running.fetch_add(1) != 0) ++at_once;
    std::this_thread::yield();
    --running;
  };
  on_only_thread(pool, [&] {
    for (int i = 0; i != 200; ++i) {
      rubato::join(visit, visit);
      rubato::for_index(0, 5, [&](int) { visit(); });
      rubato::with_scope([&](rubato::scope& s) {
        for (int k = 0; k != 5; ++k) s.spawn(visit);
      });
    }
  });
  EXPECT_EQ(at_once.load(), 0);
}

TEST(no_workers, leave_a_group_to_the_waiter) {
  hang_guard const guard;
  rubato::pool pool(rubato::no_workers);
  EXPECT_EQ(pool.size(), 0U);
  tally ran(100);
  auto const me = std::this_thread::get_id();
  std::atomic<int> elsewhere{0};
  rubato::task_group group(pool);
  for (int i = 0; i != 100; ++i) {
    group.spawn([&, i] {
      ran.hit(i);
      elsewhere += std::this_thread::get_id() != me;
    });
  }
  EXPECT_EQ(ran.total(), 0U);
  group.wait();
  ran.expect_each_once();
  EXPECT_EQ(elsewhere.load(), 0);
}

TEST(no_workers, become_some_in_the_middle_of_a_wait) {
  // Children spawned into an empty pool, no thread waiting: the first worker runs them.
  hang_guard const guard;
  rubato::pool pool(rubato::no_workers);
  arrivals ran;
  rubato::task_group group(pool);
  for (int i = 0; i != 100; ++i) group.spawn([&] { ran.arrive(); });
  pool.resize(1);
  EXPECT_TRUE(ran.wait_for(100));
  group.wait();
}

} // namespace
