// What shutdown does to the work, and how a pool starts again afterwards.
#include <rubato/cancelled.hpp>
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/counting.hpp"
#include "support/scale.hpp"
#include "support/trees.hpp"
#include "support/waiting.hpp"
#include "support/with_workers.hpp"

namespace {

using namespace rubato_test;

void chain(rubato::pool& pool, std::atomic<int>& steps, int left) {
  ++steps;
  if (left > 1) pool.enqueue([&pool, &steps, left] { chain(pool, steps, left - 1); });
}

TEST(drain, runs_what_is_queued_and_what_that_enqueues) {
  for (unsigned workers : {1u, 2u, 7u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato_test::with_workers(workers));
    std::atomic<int> steps = 0;
    for (int i = 0; i < 100; ++i) pool.enqueue([&] { chain(pool, steps, 50); });
    pool.shutdown();
    EXPECT_EQ(steps, 5'000);
    EXPECT_EQ(pool.size(), 0u);
    EXPECT_EQ(pool.pending(), 0u);
  }
}

TEST(drain, by_the_destructor_too) {
  for (unsigned workers : {1u, 2u, 7u}) {
    SCOPED_TRACE(workers);
    std::atomic<int> steps = 0;
    {
      rubato::pool pool(rubato_test::with_workers(workers));
      for (int i = 0; i < 100; ++i) pool.enqueue([&] { chain(pool, steps, 50); });
    }
    EXPECT_EQ(steps, 5'000);
  }
}

TEST(drain, of_a_default_pool_that_has_just_got_its_first_task) {
  for (int round = 0; round < 100; ++round) {
    std::atomic<bool> ran = false;
    {
      rubato::pool pool;
      pool.enqueue([&] { ran = true; });
    }
    ASSERT_TRUE(ran);
  }
}

TEST(drain, of_a_pool_without_workers_is_done_by_the_caller) {
  rubato::pool pool(rubato::no_workers);
  std::atomic<int> steps = 0;
  for (int i = 0; i < 10; ++i) pool.enqueue([&] { chain(pool, steps, 10); });
  pool.shutdown();
  EXPECT_EQ(steps, 100);
  EXPECT_EQ(pool.pending(), 0u);
}

TEST(drain, waits_for_tasks_that_are_blocked) {
  rubato::pool pool(1);
  gate opened;
  std::atomic<int> waiting = 0, passed = 0;
  for (int i = 0; i < 4; ++i) {
    pool.enqueue([&] {
      ++waiting;
      passed += rubato::blocking([&] { return opened.wait(); });
    });
  }
  ASSERT_TRUE(eventually([&] { return waiting == 4; }));
  std::jthread const opener([&] {
    std::this_thread::sleep_for(10ms); // so that shutdown mostly finds them waiting
    opened.open();
  });
  pool.shutdown();
  EXPECT_EQ(passed, 4);
}

/// Threads that begin, or go to rest, are nothing that a discard could shorten.
TEST(drain, regression_with_nothing_to_do_succeeds_without_grace) {
  {
    rubato::pool pool(rubato::pool_options().workers(2).on_start(
        [](unsigned) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }));
    EXPECT_TRUE(pool.shutdown(rubato::drain, std::chrono::seconds(0)));
  }
  rubato::pool pool(2);
  for (std::size_t round = 0; round != scaled(200); ++round) {
    EXPECT_TRUE(pool.shutdown(rubato::drain, std::chrono::seconds(0)));
    pool.resize(2);
    pool.run([] {}); // a guest has been in
  }
}

TEST(drain, with_joins_under_way) {
  for (unsigned round = 0; round < scaled(50); ++round) {
    rubato::pool pool(3);
    std::atomic<int> right = 0;
    for (int i = 0; i < 10; ++i) pool.enqueue([&] { right += forked_sum(0, 300) == sum_below(300); });
    pool.shutdown();
    ASSERT_EQ(right, 10);
  }
}

TEST(stop, is_requested_of_running_tasks_by_every_kind_of_shutdown) {
  auto until_stopped = [](std::atomic<int>& begun, std::atomic<int>& stopped) {
    return [&](std::stop_token token) {
      ++begun;
      stopped += eventually([&] { return token.stop_requested(); });
    };
  };
  for (int how = 0; how < 5; ++how) {
    SCOPED_TRACE(how);
    std::atomic<int> begun = 0, stopped = 0;
    auto pool = std::make_unique<rubato::pool>(2);
    for (int i = 0; i < 2; ++i) pool->enqueue(until_stopped(begun, stopped));
    ASSERT_TRUE(eventually([&] { return begun == 2; }));
    if (how == 0) pool->shutdown();
    if (how == 1) pool->shutdown(rubato::discard);
    if (how == 2) pool->request_shutdown(rubato::drain);
    if (how == 3) pool->request_shutdown(rubato::discard);
    pool.reset();
    EXPECT_EQ(stopped, 2);
  }
}

TEST(stop, is_not_requested_of_tasks_after_a_restart) {
  rubato::pool pool(1);
  pool.shutdown();
  pool.resize(1);
  std::atomic<int> stopped = -1;
  pool.enqueue([&](std::stop_token token) { stopped = token.stop_requested(); });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(stopped, 0);
}

TEST(stop, is_not_requested_by_a_resize) {
  rubato::pool pool(2);
  std::atomic<bool> begun = false, end = false;
  std::atomic<int> stopped = -1;
  pool.enqueue([&](std::stop_token token) {
    begun = true;
    eventually([&] { return end.load(); });
    stopped = token.stop_requested();
  });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  pool.resize(0);
  end = true;
  EXPECT_TRUE(eventually([&] { return stopped == 0; }));
}

TEST(discard, drops_what_has_not_started_and_destroys_it) {
  census members;
  std::atomic<int> ran = 0;
  std::atomic<bool> begun = false, ended = false;
  gate opened;
  rubato::pool pool(rubato::pool_options().workers(1).spares(0));
  pool.enqueue([&] {
    begun = true;
    opened.wait();
    ended = true;
  });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  for (int i = 0; i < 100; ++i) pool.enqueue([&ran, m = members.enrol()] { ++ran; });
  pool.enqueue_bulk(100, [&ran, m = members.enrol()](std::size_t) { ++ran; });
  pool.request_shutdown(rubato::discard);
  opened.open();
  pool.shutdown(rubato::discard);
  EXPECT_TRUE(ended) << "what runs is waited for";
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(members.alive(), 0) << "dropped, but not destroyed";
  EXPECT_EQ(pool.pending(), 0u);
  EXPECT_EQ(pool.size(), 0u);
}

TEST(discard, of_a_pool_without_workers_drops_everything) {
  census members;
  std::atomic<int> ran = 0;
  rubato::pool pool(rubato::no_workers);
  for (int i = 0; i < 100; ++i) pool.enqueue([&ran, m = members.enrol()] { ++ran; });
  EXPECT_GT(members.alive(), 0);
  pool.shutdown(rubato::discard);
  EXPECT_EQ(members.alive(), 0);
  EXPECT_EQ(pool.pending(), 0u);
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 0);
}

TEST(discard, runs_or_drops_every_task_once_while_producers_go_on) {
  for (unsigned workers : {0u, 1u, 3u}) {
    SCOPED_TRACE(workers);
    accounts jobs;
    {
      rubato::pool pool(rubato_test::with_workers(workers));
      std::vector<std::jthread> producers;
      for (int t = 0; t < 3; ++t) {
        producers.emplace_back([&] {
          for (unsigned i = 0; i < scaled(2'000); ++i) {
            try {
              pool.enqueue(jobs.make());
            } catch (
                rubato::cancelled const&) { // NOLINT(bugprone-empty-catch): refused, and counted as dropped
            }
          }
        });
      }
      for (int i = 0; i < 20; ++i) {
        pool.shutdown(rubato::discard);
        pool.resize(workers);
      }
    }
    EXPECT_TRUE(jobs.balance());
  }
}

TEST(discard, lets_joins_that_have_begun_end) {
  for (unsigned round = 0; round < scaled(50); ++round) {
    std::atomic<int> begun = 0, right = 0;
    rubato::pool pool(3);
    for (int i = 0; i < 10; ++i) {
      pool.enqueue([&] {
        ++begun;
        right += forked_sum(0, 300) == sum_below(300);
      });
    }
    pool.shutdown(rubato::discard);
    ASSERT_EQ(begun, right);
  }
}

TEST(discard, does_not_drop_what_is_enqueued_after_a_restart) {
  rubato::pool pool(2);
  pool.shutdown(rubato::discard);
  pool.resize(1);
  std::atomic<bool> ran = false;
  pool.enqueue([&] { ran = true; });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(ran);
}

TEST(destructor, without_workers_runs_or_drops_what_is_queued) {
  accounts jobs;
  {
    rubato::pool pool(rubato::no_workers);
    for (int i = 0; i < 100; ++i) pool.enqueue(jobs.make());
    EXPECT_EQ(jobs.ran() + jobs.dropped(), 0);
  }
  EXPECT_TRUE(jobs.balance());
}

TEST(restart, by_resize_makes_a_pool_as_good_as_new) {
  rubato::pool pool(2);
  for (unsigned round = 0; round < scaled(200); ++round) {
    std::atomic<int> ran = 0;
    for (int i = 0; i < 10; ++i) pool.enqueue([&] { ++ran; });
    if (round % 3 == 0) pool.enqueue([&] { ran += forked_sum(0, 100) == sum_below(100) ? 0 : 1'000; });
    pool.shutdown();
    ASSERT_EQ(ran, 10);
    ASSERT_EQ(pool.resize(1 + round % 4), 0u) << "a pool that was shut down has no workers";
    ASSERT_EQ(pool.size(), 1 + round % 4);
  }
}

TEST(restart, does_not_happen_by_itself) {
  std::atomic<int> ran = 0;
  rubato::pool pool(2);
  pool.shutdown();
  for (int i = 0; i < 10; ++i) EXPECT_THROW(pool.enqueue([&] { ++ran; }), rubato::cancelled);
  EXPECT_EQ(pool.size(), 0u);
  EXPECT_EQ(pool.pending(), 0u);
  pool.resize(1);
  EXPECT_EQ(ran, 0);
  for (int i = 0; i < 10; ++i) pool.enqueue([&] { ++ran; });
  EXPECT_TRUE(eventually([&] { return ran == 10; }));
}

TEST(restart, of_a_default_pool_after_shutdown_takes_a_resize) {
  std::atomic<int> ran = 0;
  rubato::pool pool;
  pool.enqueue([&] { ++ran; });
  pool.shutdown();
  EXPECT_EQ(ran, 1);
  EXPECT_FALSE(pool.try_enqueue([&] { ++ran; }));
  pool.resize(2);
  pool.enqueue([&] { ++ran; });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 2);
}

TEST(pool_after_shutdown, still_runs_what_its_callers_wait_for) {
  rubato::pool pool(2);
  pool.shutdown();
  EXPECT_EQ(pool.run([] { return forked_sum(0, 200); }), sum_below(200));
  EXPECT_TRUE(pool.broadcast([] { return 1; }).empty());
  EXPECT_TRUE(pool.wait_idle());
}

} // namespace
