// The other parts of a pool know the queues of the priorities: sleeping, counting, resizing, the end, fork().
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/hang_guard.hpp"
#include "support/pools.hpp"
#include "support/priority_log.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::priority;

constexpr priority all_priorities[] = {priority::high, priority::normal, priority::low};

class pool_priorities : public rubato_test::on_workers {};
RUBATO_TEST_WITH_WORKERS(pool_priorities, all_counts);

/// Guarantee W.
TEST_P(pool_priorities, wakes_a_worker_for_a_task_of_any_class) {
  if (GetParam() == 0) return;
  for (std::size_t round = rubato_test::scaled(300); round != 0; --round)
    for (priority const c : all_priorities) {
      std::atomic<bool> ran = false;
      pool.enqueue(c, [&] { ran = true; });
      ASSERT_TRUE(eventually([&] { return ran.load(); }));
    }
  std::this_thread::sleep_for(rubato_test::until_others_sleep);
  for (priority const c : all_priorities) {
    std::atomic<bool> ran = false;
    pool.enqueue(c, [&] { ran = true; });
    ASSERT_TRUE(eventually([&] { return ran.load(); }));
    std::this_thread::sleep_for(rubato_test::until_others_sleep);
  }
}

TEST_P(pool_priorities, is_not_idle_with_queued_tasks_of_any_class) {
  for (std::size_t round = rubato_test::scaled(200); round != 0; --round) {
    std::atomic<int> ran = 0;
    pool.enqueue(priority::low, [&] {
      pool.enqueue(priority::high, [&] { ++ran; });
      ++ran;
    });
    pool.enqueue(priority::high, [&] {
      pool.enqueue(priority::low, [&] { ++ran; });
      ++ran;
    });
    EXPECT_TRUE(pool.wait_idle());
    ASSERT_EQ(ran, 4);
  }
  EXPECT_EQ(pool.pending(), 0u);
}

TEST_P(pool_priorities, runs_what_is_queued_at_a_drain) {
  std::atomic<int> ran = 0;
  for (int i = 0; i != 50; ++i)
    for (priority const c : all_priorities) pool.enqueue(c, [&] { ++ran; });
  pool.shutdown();
  EXPECT_EQ(ran, 150);
}

TEST_P(pool_priorities, keeps_no_worker_asleep_when_it_is_resized) {
  std::atomic<int> ran = 0;
  int queued = 0;
  for (unsigned const n : {2u, 0u, 1u, 3u, 0u, 2u}) {
    for (int i = 0; i != 20; ++i)
      for (priority const c : all_priorities) {
        pool.enqueue(c, [&] { ++ran; });
        ++queued;
      }
    pool.resize(n);
  }
  ASSERT_TRUE(eventually([&] { return ran == queued; }));
  EXPECT_TRUE(pool.wait_idle());
}

TEST(pool_with_a_priority, counts_tasks_by_class) {
  rubato_test::hang_guard const guard;
  rubato::pool pool(alone(1));
  {
    held_workers held(pool);
    for (int i = 0; i != 3; ++i) pool.enqueue(priority::high, [] {});
    for (int i = 0; i != 4; ++i) pool.enqueue([] {});
    for (int i = 0; i != 5; ++i) pool.enqueue(priority::low, [] {});
    EXPECT_EQ(pool.pending(), 12u);
    rubato::pool_stats const s = pool.stats();
    EXPECT_EQ(s.queued, 12u);
    EXPECT_EQ(s.of(priority::high).queued, 3u);
    EXPECT_EQ(s.of(priority::normal).queued, 4u);
    EXPECT_EQ(s.of(priority::low).queued, 5u);
    EXPECT_EQ(s.of(priority::high).executed, 0u);
    EXPECT_EQ(s.of(priority::low).executed, 0u);
  }
  EXPECT_TRUE(pool.wait_idle());
  rubato::pool_stats const s = pool.stats();
  EXPECT_EQ(s.executed, 13u);
  EXPECT_EQ(s.of(priority::high).executed, 3u);
  EXPECT_EQ(s.of(priority::normal).executed, 5u); // and the one that held the worker
  EXPECT_EQ(s.of(priority::low).executed, 5u);
  EXPECT_EQ(s.of(priority::high).queued + s.of(priority::normal).queued + s.of(priority::low).queued, 0u);
}

TEST(pool_with_a_priority, drops_what_has_not_begun_at_a_discard) {
  rubato_test::hang_guard const guard;
  auto const alive = std::make_shared<int>(0);
  std::atomic<int> ran = 0;
  rubato::pool pool(alone(2));
  std::vector<rubato::future<void>> futures;
  {
    held_workers held(pool);
    for (int i = 0; i != 20; ++i)
      for (priority const c : all_priorities) {
        pool.enqueue(c, [&ran, alive] { ++ran; });
        futures.push_back(pool.spawn(c, [&ran, alive] { ++ran; }));
      }
    pool.request_shutdown(rubato::discard);
    EXPECT_EQ(pool.pending(), 0u);
  }
  pool.shutdown();
  EXPECT_EQ(ran, 0);
  for (auto& f : futures) EXPECT_THROW(f.get(), std::future_error);
  futures.clear();
  EXPECT_EQ(alive.use_count(), 1);
}

/// A coroutine whose wait is over is queued and has begun.
TEST(pool_with_a_priority, resumes_what_has_begun_at_a_discard) {
  rubato_test::hang_guard const guard;
  for (priority const c : all_priorities) {
    std::atomic<int> step = 0;
    rubato::pool pool(alone(1));
    rubato::async_mutex lock;
    ASSERT_TRUE(lock.try_acquire());
    auto waiting = [](rubato::async_mutex& m, std::atomic<int>& s) -> rubato::task<void> {
      s = 1;
      co_await m.acquire();
      s = 2;
      m.release();
    };
    auto f = pool.spawn(c, waiting(lock, step));
    ASSERT_TRUE(eventually([&] { return step == 1 && pool.pending() == 0 && pool.wait_idle(1s); }));
    {
      held_workers held(pool);
      lock.release();
      EXPECT_EQ(pool.stats().of(c).queued, 1u);
      pool.request_shutdown(rubato::discard);
    }
    pool.shutdown();
    EXPECT_EQ(step, 2);
    f.get();
  }
}

TEST(pool_with_a_priority, keeps_continuations_for_its_next_life) {
  rubato_test::hang_guard const guard;
  rubato::pool pool(1);
  std::vector<rubato::future<void>> sources;
  for (priority const c : all_priorities) sources.push_back(pool.spawn(c, [] {}));
  pool.shutdown();
  std::atomic<int> ran = 0;
  for (auto& f : sources) std::move(f).then([&] { ++ran; }).detach();
  EXPECT_EQ(pool.pending(), 3u);
  pool.resize(2);
  ASSERT_TRUE(eventually([&] { return ran == 3; }));
}

TEST(pool_with_a_priority, counts_its_tasks_towards_max_queued) {
  rubato_test::hang_guard const guard;
  rubato::pool pool(alone(1).max_queued(2));
  held_workers held(pool);
  pool.enqueue(priority::high, [] {});
  pool.enqueue(priority::low, [] {});
  EXPECT_FALSE(pool.try_enqueue([] {}));
  held.open();
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(pool.try_enqueue([] {}));
}

/// Guarantee R, for a thread that blocks in the kernel: all that is queued runs, in any priority.
TEST(pool_with_a_priority, sends_relief_for_a_task_of_any_class) {
  rubato_test::hang_guard const guard;
  for (priority const c : all_priorities) {
    rubato::pool pool(1);
    rubato_test::gate release;
    std::atomic<bool> blocks = false, ran = false;
    pool.enqueue([&] {
      blocks = true;
      static_cast<void>(release.wait());
    });
    ASSERT_TRUE(eventually([&] { return blocks.load(); }));
    pool.enqueue(c, [&] { ran = true; });
    EXPECT_TRUE(eventually([&] { return ran.load(); })) << static_cast<int>(c);
    release.open();
    EXPECT_TRUE(pool.wait_idle());
  }
}

/// The same, while every worker computes: low tasks count as normal after a while.
TEST(pool_with_a_priority, sends_one_more_thread_for_any_class) {
  rubato_test::hang_guard const guard;
  for (priority const c : all_priorities) {
    rubato::pool pool(1);
    std::atomic<bool> computes = false, ran = false;
    pool.enqueue([&] {
      computes = true;
      EXPECT_TRUE(rubato_test::computing_until([&] { return ran.load(); })) << static_cast<int>(c);
    });
    ASSERT_TRUE(eventually([&] { return computes.load(); }));
    pool.enqueue(c, [&] { ran = true; });
    EXPECT_TRUE(pool.wait_idle());
  }
}

/// A task that spawns and waits without end leaves claimed entries behind, but not ever more.
TEST(pool_with_a_priority, sweeps_claimed_tasks_of_any_class) {
  rubato_test::hang_guard const guard;
  for (priority const c : all_priorities) {
    rubato::pool pool(alone(1));
    std::size_t most = 0;
    pool.run([&] {
      for (int i = 0; i != 5'000; ++i) {
        pool.spawn(c, [] {}).get();
        most = std::max(most, pool.pending());
      }
    });
    EXPECT_LE(most, 600u) << static_cast<int>(c);
  }
}

TEST(pool_with_a_priority, works_in_the_child_of_a_fork) {
  if (rubato_test::under_tsan) GTEST_SKIP() << "ThreadSanitizer starts no threads in the child of a fork";
  rubato_test::hang_guard const guard;
  rubato::pool pool(alone(1));
  std::atomic<int> ran = 0;
  held_workers held(pool);
  for (priority const c : all_priorities) pool.enqueue(c, [&] { ran += 100; });
  pid_t const child = fork();
  if (child == 0) {
    for (priority const c : all_priorities) pool.enqueue(c, [&] { ++ran; });
    bool const idle = pool.wait_idle();
    _exit(idle && ran == 3 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  held.open();
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 300);
}

} // namespace
