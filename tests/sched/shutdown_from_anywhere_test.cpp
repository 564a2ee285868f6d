// Shutdown and destruction from tasks, from other pools, from several threads at once: an error or an end,
// never a hang.
#include <rubato/join.hpp>
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "support/counting.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/trees.hpp"
#include "support/waiting.hpp"
#include "support/with_workers.hpp"

namespace {

using namespace rubato_test;

template<class How>
bool refused_as_deadlock(rubato::pool& pool, How how) {
  try {
    pool.shutdown(how);
  } catch (std::system_error const& error) {
    return error.code() == std::errc::resource_deadlock_would_occur;
  }
  return false;
}

TEST(shutdown_in_a_task, of_its_own_pool_throws_without_change) {
  rubato::pool pool(2);
  std::atomic<int> refused = 0;
  pool.enqueue([&] { refused += refused_as_deadlock(pool, rubato::drain); });
  pool.enqueue([&] { refused += refused_as_deadlock(pool, rubato::discard); });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(pool.size(), 2u);
  std::atomic<bool> ran = false;
  pool.enqueue([&] { ran = true; });
  EXPECT_TRUE(eventually([&] { return ran.load(); }));
}

TEST(shutdown_in_a_task, that_is_deep_inside_throws_too) {
  rubato::pool pool(2), other(1);
  std::atomic<int> refused = 0;
  pool.enqueue([&] {
    auto attempt = [&] { return refused_as_deadlock(pool, rubato::drain) ? 1 : 0; };
    auto const [left, right] = rubato::join(attempt, attempt);
    refused += left + right;
    refused += rubato::blocking(attempt);
    refused += pool.run(attempt);
    refused += other.run(attempt); // still on the stack of a task of `pool`, which would wait for it
  });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(refused, 5);
}

TEST(shutdown_in_a_task, inside_run_throws_too) {
  for (unsigned workers : {0u, 1u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato_test::with_workers(workers));
    EXPECT_TRUE(pool.run([&] { return refused_as_deadlock(pool, rubato::drain); }));
    EXPECT_EQ(pool.size(), workers);
  }
}

TEST(shutdown_in_a_task, of_another_pool_works) {
  rubato::pool a(2), b(2);
  std::atomic<int> done = 0, seen = -1;
  for (int i = 0; i < 100; ++i) b.enqueue([&] { ++done; });
  a.enqueue([&] {
    b.shutdown();
    seen = done.load();
  });
  EXPECT_TRUE(a.wait_idle());
  EXPECT_EQ(seen, 100);
  EXPECT_EQ(b.size(), 0u);
}

TEST(shutdown_in_a_task, of_another_pool_by_its_destructor_works) {
  rubato::pool a(1);
  auto b = std::make_unique<rubato::pool>(2);
  std::atomic<int> done = 0;
  for (int i = 0; i < 100; ++i) b->enqueue([&] { ++done; });
  a.enqueue([&] { b.reset(); });
  EXPECT_TRUE(a.wait_idle());
  EXPECT_EQ(done, 100);
  EXPECT_EQ(b, nullptr);
}

TEST(request_shutdown, in_a_task_does_not_wait_for_it) {
  for (bool dropping : {false, true}) {
    SCOPED_TRACE(dropping);
    accounts jobs;
    rubato::pool pool(2);
    std::atomic<bool> went_on = false;
    pool.enqueue([&] {
      for (int i = 0; i < 100; ++i) pool.enqueue(jobs.make());
      if (dropping) {
        pool.request_shutdown(rubato::discard);
      } else {
        pool.request_shutdown(rubato::drain);
      }
      went_on = true;
    });
    EXPECT_TRUE(
        eventually([&] { return went_on && pool.size() == 0 && jobs.ran() + jobs.dropped() == 100; }));
    EXPECT_TRUE(jobs.balance());
    if (!dropping) {
      EXPECT_EQ(jobs.ran(), 100);
    }
    pool.shutdown(); // ends what was begun
    pool.resize(1);
    std::atomic<bool> ran = false;
    pool.enqueue([&] { ran = true; });
    EXPECT_TRUE(eventually([&] { return ran.load(); }));
  }
}

TEST(request_shutdown, from_outside_waits_for_no_running_task) {
  rubato::pool pool(1);
  gate opened;
  std::atomic<bool> begun = false, ended = false;
  pool.enqueue([&] {
    begun = true;
    opened.wait();
    ended = true;
  });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  pool.request_shutdown(rubato::drain); // returns, although the gate is closed
  EXPECT_FALSE(ended);
  opened.open();
  pool.shutdown();
  EXPECT_TRUE(ended);
}

TEST(request_shutdown, is_completed_by_the_destructor) {
  for (unsigned round = 0; round < scaled(100); ++round) {
    std::atomic<int> ran = 0;
    {
      rubato::pool pool(1 + round % 3);
      for (int i = 0; i < 50; ++i) pool.enqueue([&] { ++ran; });
      pool.request_shutdown(rubato::drain);
    }
    ASSERT_EQ(ran, 50);
  }
}

TEST(request_shutdown, of_an_unused_or_ended_pool_does_nothing) {
  rubato::pool unused, empty(rubato::no_workers), finished(1);
  finished.shutdown();
  for (auto* pool : {&unused, &empty, &finished}) {
    pool->request_shutdown(rubato::drain);
    pool->request_shutdown(rubato::discard);
    pool->shutdown(rubato::discard);
    pool->shutdown();
  }
}

TEST(request_shutdown, and_a_resize_at_once_leave_a_working_pool) {
  rubato::pool pool(2);
  for (unsigned round = 0; round < scaled(300); ++round) {
    std::atomic<int> ran = 0;
    for (int i = 0; i < 5; ++i) pool.enqueue([&] { ++ran; });
    pool.request_shutdown(rubato::drain);
    pool.resize(1 + round % 3);
    pool.enqueue([&] { ++ran; });
    ASSERT_TRUE(eventually([&] { return ran == 6; })) << "round " << round;
    ASSERT_TRUE(pool.wait_idle());
  }
}

TEST(many_shutdowns, at_once_ends_for_all_of_them) {
  for (unsigned round = 0; round < scaled(50); ++round) {
    rubato::pool pool(3);
    std::atomic<int> ran = 0, early = 0;
    for (int i = 0; i < 100; ++i) pool.enqueue([&] { ++ran; });
    std::vector<std::jthread> callers;
    for (int t = 0; t < 4; ++t) {
      callers.emplace_back([&] {
        pool.shutdown();
        early += ran != 100;
      });
    }
    callers.clear();
    ASSERT_EQ(early, 0) << "a shutdown returned before the pool was drained";
    ASSERT_EQ(pool.size(), 0u);
  }
}

TEST(many_shutdowns, of_both_kinds_run_or_drop_every_task_once) {
  for (unsigned round = 0; round < scaled(50); ++round) {
    accounts jobs;
    {
      rubato::pool pool(2);
      for (int i = 0; i < 200; ++i) pool.enqueue(jobs.make());
      std::jthread const drainer([&] { pool.shutdown(); });
      std::jthread const discarder([&] { pool.shutdown(rubato::discard); });
      std::jthread const resizer([&] { pool.resize(round % 3); });
    }
    ASSERT_TRUE(jobs.balance());
  }
}

TEST(many_shutdowns, while_others_run_in_the_pool) {
  for (unsigned round = 0; round < scaled(50); ++round) {
    rubato::pool pool(2);
    std::atomic<int> right = 0;
    {
      std::vector<std::jthread> callers;
      for (int t = 0; t < 3; ++t) {
        callers.emplace_back([&] {
          for (int i = 0; i < 10; ++i) right += pool.run([] { return forked_sum(0, 100); }) == sum_below(100);
        });
      }
      pool.shutdown();
    }
    ASSERT_EQ(right, 30);
  }
}

[[noreturn]] void destroy_a_pool_in_a_task_of_its_own() {
  kill_this_process_if_it_hangs();
  auto* const pool = new rubato::pool(1);
  gate never;
  pool->enqueue([&] { delete pool; });
  never.wait();
  leave(false, "the destructor neither returned nor terminated");
}

using destructor_in_a_task = fresh_process;

TEST_F(destructor_in_a_task, of_its_own_pool_ends_with_a_message) {
  EXPECT_EXIT(destroy_a_pool_in_a_task_of_its_own(), testing::KilledBySignal(SIGABRT), "rubato: .*pool");
}

} // namespace
