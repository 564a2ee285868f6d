// The pool of the whole program, and the free functions that go to the pool one is in.
#include <rubato/cancelled.hpp>
#include <rubato/pool.hpp>
#include <rubato/spawn.hpp>

#include <gtest/gtest.h>

#include <atomic>

#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

TEST(global_pool, is_one_and_the_same) { EXPECT_EQ(&rubato::pool::global(), &rubato::pool::global()); }

TEST(global_pool, runs_tasks_on_a_worker_per_usable_cpu) {
  auto& pool = rubato::pool::global();
  std::atomic<rubato::pool*> seen = nullptr;
  pool.enqueue([&] { seen = rubato::current_pool(); });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(seen, &pool);
  EXPECT_EQ(pool.size(), rubato::usable_cpus());
}

TEST(global_pool, can_be_resized_and_shut_down_and_started_again) {
  auto& pool = rubato::pool::global();
  EXPECT_TRUE(pool.wait_idle());
  unsigned const old = pool.resize(3);
  EXPECT_EQ(pool.size(), 3u);
  pool.shutdown();
  EXPECT_EQ(pool.size(), 0u);
  pool.resize(old);
  std::atomic<bool> ran = false;
  pool.enqueue([&] { ran = true; });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(ran);
}

/// It is closed as any pool is: only after the program's end is anything dropped.
TEST(global_pool, regression_refuses_work_after_a_shutdown) {
  auto& pool = rubato::pool::global();
  unsigned const old = pool.resize(2);
  pool.shutdown();
  std::atomic<bool> ran = false;
  EXPECT_THROW(rubato::enqueue([&] { ran = true; }), rubato::cancelled);
  EXPECT_THROW(static_cast<void>(rubato::spawn(pool, [] { return 3; })), rubato::cancelled);
  EXPECT_EQ(pool.run([] { return 4; }), 4);
  pool.resize(old);
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_FALSE(ran);
  EXPECT_EQ(rubato::spawn(pool, [] { return 3; }).get(), 3);
}

TEST(free_enqueue, outside_of_any_pool_goes_to_the_global_one) {
  std::atomic<rubato::pool*> seen = nullptr;
  rubato::enqueue([&] { seen = rubato::current_pool(); });
  EXPECT_TRUE(rubato::pool::global().wait_idle());
  EXPECT_EQ(seen, &rubato::pool::global());
}

TEST(free_enqueue, in_a_task_goes_to_the_pool_of_that_task) {
  rubato::pool pool(1);
  std::atomic<rubato::pool*> seen = nullptr;
  pool.enqueue([&] { rubato::enqueue([&] { seen = rubato::current_pool(); }); });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(seen, &pool);
}

TEST(free_enqueue, takes_a_pool_if_one_is_named) {
  rubato::pool a(1), b(1);
  std::atomic<rubato::pool*> seen = nullptr;
  a.enqueue([&] { rubato::enqueue(b, [&] { seen = rubato::current_pool(); }); });
  EXPECT_TRUE(a.wait_idle());
  EXPECT_TRUE(b.wait_idle());
  EXPECT_EQ(seen, &b);
}

} // namespace
