// Guarantee R: a task that is ready behind busy workers is started, whatever these do. Promised are 10 ms and
// the kernel's delay; these tests know only started and lost.
#include <rubato/join.hpp>
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "support/trees.hpp"
#include "support/waiting.hpp"

namespace {

using namespace pool_test;

class relief : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, relief, testing::Values(1u, 2u, 4u), testing::PrintToStringParamName());

TEST_P(relief, comes_when_every_worker_is_blocked_in_the_kernel) {
  rubato::pool pool(GetParam());
  gate opened;
  std::atomic<unsigned> begun = 0, passed = 0;
  for (unsigned i = 0; i < GetParam(); ++i) {
    pool.enqueue([&] {
      ++begun;
      passed += opened.wait(); // not a word to the pool
    });
  }
  ASSERT_TRUE(eventually([&] { return begun == GetParam(); }));
  pool.enqueue([&] { opened.open(); });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(passed, GetParam());
}

TEST_P(relief, comes_when_every_worker_computes) {
  rubato::pool pool(GetParam());
  std::atomic<bool> end = false;
  std::atomic<unsigned> begun = 0, saw = 0;
  for (unsigned i = 0; i < GetParam(); ++i) {
    pool.enqueue([&] {
      ++begun;
      saw += computing_until([&] { return end.load(); });
    });
  }
  ASSERT_TRUE(eventually([&] { return begun == GetParam(); }));
  pool.enqueue([&] { end = true; });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(saw, GetParam());
}

TEST_P(relief, comes_for_tasks_that_the_busy_worker_itself_enqueued) {
  rubato::pool pool(GetParam());
  std::atomic<unsigned> done = 0, saw = 0;
  unsigned const last = GetParam() * 10;
  for (unsigned i = 0; i < GetParam(); ++i) {
    pool.enqueue([&] {
      for (int k = 0; k < 10; ++k) pool.enqueue([&] { ++done; });
      saw += computing_until([&] { return done == last; });
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(saw, GetParam());
}

TEST_P(relief, comes_when_some_workers_compute_and_some_are_blocked) {
  rubato::pool pool(GetParam() + 1);
  gate opened;
  std::atomic<unsigned> begun = 0, passed = 0;
  for (unsigned i = 0; i < GetParam(); ++i) {
    pool.enqueue([&] {
      ++begun;
      passed += computing_until([&] { return opened.is_open(); });
    });
  }
  pool.enqueue([&] {
    ++begun;
    passed += opened.wait();
  });
  ASSERT_TRUE(eventually([&] { return begun == GetParam() + 1; }));
  pool.enqueue([&] { opened.open(); });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(passed, GetParam() + 1);
}

TEST_P(relief, comes_when_the_workers_join_without_end) {
  rubato::pool pool(GetParam());
  std::atomic<bool> end = false;
  std::atomic<unsigned> begun = 0, saw = 0;
  for (unsigned i = 0; i < GetParam(); ++i) {
    pool.enqueue([&] {
      ++begun;
      saw += computing_until([&] {
        forked_sum(0, 10);
        return end.load();
      });
    });
  }
  ASSERT_TRUE(eventually([&] { return begun == GetParam(); }));
  pool.enqueue([&] { end = true; });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(saw, GetParam());
}

TEST_P(relief, comes_for_many_short_tasks) {
  rubato::pool pool(GetParam());
  std::atomic<unsigned> begun = 0, saw = 0, done = 0;
  for (unsigned i = 0; i < GetParam(); ++i) {
    pool.enqueue([&] {
      ++begun;
      saw += computing_until([&] { return done == 2'000; });
    });
  }
  ASSERT_TRUE(eventually([&] { return begun == GetParam(); }));
  for (int i = 0; i < 2'000; ++i) pool.enqueue([&] { ++done; });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(saw, GetParam());
}

TEST(relief_again, comes_when_the_task_that_was_relieved_is_blocked_as_well) {
  // Each waits, in the kernel, for the next one in the queue.
  constexpr std::size_t length = 6;
  rubato::pool pool(1);
  std::array<gate, length> gates;
  std::atomic<unsigned> passed = 0;
  for (std::size_t i = 0; i < length; ++i) {
    pool.enqueue([&, i] {
      if (i > 0) gates[i - 1].open();
      passed += i + 1 == length || gates[i].wait();
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(passed, length);
}

TEST(relief_again, comes_as_often_as_it_is_needed) {
  rubato::pool pool(1);
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> end = false, saw = false;
    pool.enqueue([&] { saw = computing_until([&] { return end.load(); }); });
    pool.enqueue([&] { end = true; });
    ASSERT_TRUE(pool.wait_idle());
    ASSERT_TRUE(saw);
  }
}

TEST(relief_again, comes_to_several_pools_at_once) {
  rubato::pool pools[] = {rubato::pool(1), rubato::pool(1), rubato::pool(2)};
  std::atomic<int> ends = 0, saw = 0;
  for (auto& pool : pools) {
    unsigned const workers = pool.size();
    for (unsigned i = 0; i < workers; ++i) {
      pool.enqueue([&] { saw += computing_until([&] { return ends == 3; }); });
    }
    pool.enqueue([&] { ++ends; });
  }
  for (auto& pool : pools) EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(saw, 4);
}

TEST(relief_again, comes_after_a_resize_and_after_a_restart) {
  rubato::pool pool(3);
  auto expect_relief = [&] {
    std::atomic<bool> end = false, saw = false;
    pool.enqueue([&] { saw = computing_until([&] { return end.load(); }); });
    pool.enqueue([&] { end = true; });
    ASSERT_TRUE(pool.wait_idle());
    ASSERT_TRUE(saw);
  };
  pool.resize(1);
  expect_relief();
  pool.shutdown();
  pool.resize(1);
  expect_relief();
}

} // namespace
