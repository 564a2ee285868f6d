// wait_idle and pending.
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include "support/scale.hpp"
#include "support/waiting.hpp"
#include "support/with_workers.hpp"

namespace {

using namespace rubato_test;

TEST(wait_idle, returns_when_nothing_is_queued_or_running) {
  for (unsigned workers : {0u, 1u, 4u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato_test::with_workers(workers));
    std::atomic<int> done = 0;
    for (int i = 0; i < 50; ++i) {
      pool.enqueue([&] {
        std::this_thread::sleep_for(100us);
        ++done;
      });
    }
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(done, 50);
    EXPECT_EQ(pool.pending(), 0u);
  }
}

void chain(rubato::pool& pool, std::atomic<int>& steps, int left) {
  ++steps;
  if (left > 1) pool.enqueue([&pool, &steps, left] { chain(pool, steps, left - 1); });
}

TEST(wait_idle, covers_what_the_tasks_enqueue) {
  for (unsigned workers : {0u, 1u, 4u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato_test::with_workers(workers));
    std::atomic<int> steps = 0;
    for (int i = 0; i < 10; ++i) pool.enqueue([&] { chain(pool, steps, 500); });
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(steps, 5'000);
  }
}

TEST(wait_idle, of_an_idle_pool_returns_at_once) {
  rubato::pool used(2), unused(2), empty(rubato::no_workers);
  used.enqueue([] {});
  for (auto* pool : {&used, &unused, &empty}) {
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(pool->wait_idle());
  }
}

TEST(wait_idle, counts_a_task_that_is_blocked_as_running) {
  rubato::pool pool(1);
  gate opened;
  std::atomic<bool> begun = false, done = false;
  pool.enqueue([&] {
    begun = true;
    rubato::blocking([&] { opened.wait(); });
    done = true;
  });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  EXPECT_FALSE(pool.wait_idle(5ms));
  opened.open();
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(done);
}

TEST(wait_idle, counts_a_caller_of_run_as_running) {
  rubato::pool pool(2);
  gate opened;
  std::atomic<bool> inside = false;
  std::jthread const caller([&] {
    pool.run([&] {
      inside = true;
      opened.wait();
    });
  });
  ASSERT_TRUE(eventually([&] { return inside.load(); }));
  EXPECT_FALSE(pool.wait_idle(5ms));
  opened.open();
  EXPECT_TRUE(pool.wait_idle());
}

TEST(wait_idle, with_a_duration_gives_up_then) {
  rubato::pool pool(1);
  gate opened;
  std::atomic<bool> begun = false;
  pool.enqueue([&] {
    begun = true;
    opened.wait();
  });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  auto const start = std::chrono::steady_clock::now();
  EXPECT_FALSE(pool.wait_idle(20ms));
  EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms) << "it gave up too early";
  EXPECT_FALSE(pool.wait_idle(0ns));
  EXPECT_FALSE(pool.wait_idle(-1h));
  EXPECT_FALSE(pool.wait_idle(std::chrono::hours::min()));
  EXPECT_FALSE(pool.wait_idle(std::chrono::duration<double>(0.001)));
  opened.open();
  EXPECT_TRUE(pool.wait_idle(bound));
}

TEST(wait_idle, with_any_duration_is_satisfied_by_an_idle_pool) {
  for (unsigned workers : {0u, 2u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato_test::with_workers(workers));
    std::atomic<int> done = 0;
    pool.enqueue([&] { ++done; });
    ASSERT_TRUE(pool.wait_idle());
    EXPECT_TRUE(pool.wait_idle(0ns));
    EXPECT_TRUE(pool.wait_idle(-5s));
    EXPECT_EQ(done, 1);
  }
}

TEST(wait_idle, takes_durations_beyond_every_clock) {
  rubato::pool pool(2);
  auto busy = [&] { pool.enqueue([] { std::this_thread::sleep_for(1ms); }); };
  busy();
  EXPECT_TRUE(pool.wait_idle(std::chrono::nanoseconds::max()));
  busy();
  EXPECT_TRUE(pool.wait_idle(std::chrono::hours::max()));
  busy();
  EXPECT_TRUE(pool.wait_idle(std::chrono::duration<double>(1e300)));
}

TEST(wait_idle, with_a_duration_gives_up_on_endless_work) {
  for (unsigned workers : {0u, 1u, 3u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato_test::with_workers(workers));
    std::atomic<bool> stop = false;
    struct endless {
      static void step(rubato::pool& p, std::atomic<bool>& s) {
        if (!s) p.enqueue([&] { step(p, s); });
      }
    };
    pool.enqueue([&] { endless::step(pool, stop); });
    EXPECT_FALSE(pool.wait_idle(20ms));
    stop = true;
    EXPECT_TRUE(pool.wait_idle());
  }
}

TEST(wait_idle, throws_in_a_task_of_the_same_pool) {
  // It would wait for itself.
  rubato::pool pool(2);
  std::atomic<int> refused = 0;
  auto attempt = [&](auto... duration) {
    try {
      pool.wait_idle(duration...);
    } catch (std::system_error const& error) {
      refused += error.code() == std::errc::resource_deadlock_would_occur;
    }
  };
  pool.enqueue([&] {
    attempt();
    attempt(1ms);
  });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(refused, 2);
  pool.run([&] { attempt(); });
  EXPECT_EQ(refused, 3);
}

TEST(wait_idle, in_a_task_of_another_pool_works) {
  rubato::pool a(1), b(1);
  std::atomic<int> done = 0, seen = 0;
  for (int i = 0; i < 20; ++i) b.enqueue([&] { ++done; });
  a.enqueue([&] {
    b.wait_idle();
    seen = done.load();
  });
  EXPECT_TRUE(a.wait_idle());
  EXPECT_EQ(seen, 20);
}

TEST(wait_idle, may_be_called_by_many_threads_at_once) {
  for (unsigned workers : {0u, 1u, 3u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato_test::with_workers(workers));
    std::atomic<int> done = 0, early = 0;
    for (int i = 0; i < 200; ++i) {
      pool.enqueue([&] {
        std::this_thread::yield();
        ++done;
      });
    }
    std::vector<std::jthread> waiters;
    for (int t = 0; t < 4; ++t) {
      waiters.emplace_back([&] {
        pool.wait_idle();
        early += done != 200;
      });
    }
    waiters.clear();
    EXPECT_EQ(early, 0);
  }
}

TEST(wait_idle, loses_no_wake_up) {
  for (unsigned workers : {1u, 3u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato::pool_options().workers(workers).search_time(0ns));
    for (unsigned round = 0; round < scaled(20'000); ++round) {
      std::atomic<int> done = 0;
      for (unsigned i = 0; i <= round % 3; ++i) pool.enqueue([&] { ++done; });
      ASSERT_TRUE(pool.wait_idle());
      ASSERT_EQ(done, static_cast<int>(round % 3) + 1);
    }
  }
}

TEST(pending, counts_what_is_queued) {
  rubato::pool pool(rubato::no_workers);
  EXPECT_EQ(pool.pending(), 0u);
  for (std::size_t i = 1; i <= 10; ++i) {
    pool.enqueue([] {});
    EXPECT_EQ(pool.pending(), i);
  }
  pool.enqueue_bulk(20, [](std::size_t) {});
  EXPECT_GT(pool.pending(), 10u);
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(pool.pending(), 0u);
}

TEST(pending, comes_down_as_a_worker_takes_tasks) {
  rubato::pool pool(rubato::pool_options().workers(1).spares(0));
  gate opened;
  std::atomic<bool> begun = false;
  pool.enqueue([&] {
    begun = true;
    opened.wait();
  });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  std::size_t const running = pool.pending(); // whether what runs is pending is the pool's affair
  EXPECT_LE(running, 1u);
  for (int i = 0; i < 5; ++i) pool.enqueue([] {});
  EXPECT_EQ(pool.pending(), running + 5);
  opened.open();
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(pool.pending(), 0u);
}

} // namespace
