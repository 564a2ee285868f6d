// enqueue, try_enqueue, enqueue_bulk: every task runs exactly once, in the order that is promised.
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "os/thread.hpp"
#include "support/counting.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"
#include "support/with_workers.hpp"

namespace {

using namespace rubato_test;

class enqueue : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, enqueue, testing::Values(0u, 1u, 2u, 7u, 33u),
                         testing::PrintToStringParamName());

TEST_P(enqueue, runs_each_task_exactly_once) {
  rubato::pool pool(rubato_test::with_workers(GetParam()));
  unsigned const n = scaled(20'000);
  tally tasks(n);
  for (unsigned i = 0; i < n; ++i) pool.enqueue([&tasks, i] { tasks.hit(i); });
  EXPECT_TRUE(pool.wait_idle());
  tasks.expect_each_once();
}

TEST_P(enqueue, from_many_threads_runs_each_task_exactly_once) {
  constexpr unsigned producers = 8;
  std::size_t const each = scaled(3'000);
  rubato::pool pool(rubato_test::with_workers(GetParam()));
  tally tasks(producers * each);
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < producers; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t * each; i < (t + 1) * each; ++i) pool.enqueue([&tasks, i] { tasks.hit(i); });
      });
    }
  }
  EXPECT_TRUE(pool.wait_idle());
  tasks.expect_each_once();
}

void enqueue_range(rubato::pool& pool, tally& tasks, std::size_t first, std::size_t last) {
  if (last - first == 1) return tasks.hit(first);
  std::size_t const middle = first + (last - first) / 2;
  pool.enqueue([&pool, &tasks, first, middle] { enqueue_range(pool, tasks, first, middle); });
  pool.enqueue([&pool, &tasks, middle, last] { enqueue_range(pool, tasks, middle, last); });
}

TEST_P(enqueue, from_tasks_runs_each_task_exactly_once) {
  rubato::pool pool(rubato_test::with_workers(GetParam()));
  unsigned const n = scaled(20'000);
  tally tasks(n);
  pool.enqueue([&] { enqueue_range(pool, tasks, 0, n); });
  EXPECT_TRUE(pool.wait_idle());
  tasks.expect_each_once();
}

TEST_P(enqueue, of_try_enqueue_without_a_limit_always_succeeds) {
  rubato::pool pool(rubato_test::with_workers(GetParam()));
  tally tasks(5'000);
  for (unsigned i = 0; i < 5'000; ++i) ASSERT_TRUE(pool.try_enqueue([&tasks, i] { tasks.hit(i); }));
  EXPECT_TRUE(pool.wait_idle());
  tasks.expect_each_once();
}

TEST_P(enqueue, in_bulk_calls_with_every_index_exactly_once) {
  rubato::pool pool(rubato_test::with_workers(GetParam()));
  for (std::size_t n :
       {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{63}, std::size_t{20'000}}) {
    SCOPED_TRACE(n);
    tally calls(n);
    pool.enqueue_bulk(n, [&calls](std::size_t i) { calls.hit(i); });
    EXPECT_TRUE(pool.wait_idle());
    calls.expect_each_once();
  }
}

TEST_P(enqueue, in_bulk_from_tasks_and_threads_at_once) {
  static constexpr std::size_t bulks = 8, each = 1'000;
  rubato::pool pool(rubato_test::with_workers(GetParam()));
  tally calls(bulks * each);
  auto start = [&](std::size_t bulk) {
    pool.enqueue_bulk(each, [&calls, bulk](std::size_t i) { calls.hit(bulk * each + i); });
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t b = 0; b < bulks / 2; ++b) threads.emplace_back([&start, b] { start(b); });
    for (std::size_t b = bulks / 2; b < bulks; ++b) pool.enqueue([&start, b] { start(b); });
  }
  EXPECT_TRUE(pool.wait_idle());
  calls.expect_each_once();
}

TEST(enqueue_order, of_tasks_from_outside_is_kept_by_one_worker) {
  // Without spares there is no relief, so that the worker is alone.
  rubato::pool pool(rubato::pool_options().workers(1).spares(0));
  std::vector<unsigned> order;
  unsigned const n = scaled(20'000);
  for (unsigned i = 0; i < n; ++i) pool.enqueue([&order, i] { order.push_back(i); });
  EXPECT_TRUE(pool.wait_idle());
  ASSERT_EQ(order.size(), n);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST(enqueue_order, of_tasks_from_a_task_is_kept_by_one_worker) {
  rubato::pool pool(rubato::pool_options().workers(1).spares(0));
  std::vector<unsigned> order;
  unsigned const n = scaled(20'000);
  pool.enqueue([&] {
    for (unsigned i = 0; i < n; ++i) pool.enqueue([&order, i] { order.push_back(i); });
  });
  EXPECT_TRUE(pool.wait_idle());
  ASSERT_EQ(order.size(), n);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

/// The worker has taken a batch from the injector when it runs the long task.
TEST(enqueue_order, regression_holds_however_long_a_task_takes) {
  for (bool const computes : {true, false}) {
    SCOPED_TRACE(computes);
    rubato::pool pool(rubato::pool_options().workers(rubato::no_workers).spares(0));
    std::vector<unsigned> order;
    for (unsigned i = 0; i < 1'000; ++i) {
      pool.enqueue([&order, computes, i] {
        order.push_back(i);
        if (i != 3) return;
        auto const me = rubato::os::this_thread_id();
        if (!computes) std::this_thread::sleep_for(60ms); // some times as long as the monitor's patience
        for (auto const end = rubato::os::cpu_time(me) + 60ms; computes && rubato::os::cpu_time(me) < end;) {
        }
      });
    }
    pool.resize(1);
    EXPECT_TRUE(pool.wait_idle());
    ASSERT_EQ(order.size(), 1'000u);
    EXPECT_TRUE(std::ranges::is_sorted(order));
  }
}

TEST(enqueue_order, of_many_producers_is_kept_by_one_worker) {
  constexpr unsigned producers = 4;
  rubato::pool pool(rubato::pool_options().workers(1).spares(0));
  unsigned const each = scaled(5'000);
  std::vector<std::vector<unsigned>> order(producers);
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < producers; ++t) {
      threads.emplace_back([&, t] {
        for (unsigned i = 0; i < each; ++i) pool.enqueue([&mine = order[t], i] { mine.push_back(i); });
      });
    }
  }
  EXPECT_TRUE(pool.wait_idle());
  for (auto const& mine : order) {
    ASSERT_EQ(mine.size(), each);
    EXPECT_TRUE(std::ranges::is_sorted(mine));
  }
}

TEST(enqueue_order, is_kept_by_the_driver_without_workers) {
  rubato::pool pool(rubato::no_workers);
  std::vector<unsigned> order;
  for (unsigned i = 0; i < 1'000; ++i) pool.enqueue([&order, i] { order.push_back(i); });
  EXPECT_TRUE(order.empty()) << "enqueue ran a task on the stack of its caller";
  EXPECT_TRUE(pool.wait_idle());
  std::vector<unsigned> expected(1'000);
  std::iota(expected.begin(), expected.end(), 0u);
  EXPECT_EQ(order, expected);
}

TEST(enqueue_visibility, covers_writes_before_the_task_and_in_it) {
  rubato::pool pool(3);
  for (unsigned round = 0; round < scaled(2'000); ++round) {
    std::vector<unsigned> plain(4, round); // no atomics: a race would be reported by the sanitizer
    for (unsigned i = 0; i < 4; ++i) pool.enqueue([&plain, i] { plain[i] += i; });
    ASSERT_TRUE(pool.wait_idle());
    for (unsigned i = 0; i < 4; ++i) ASSERT_EQ(plain[i], round + i);
  }
}

TEST(enqueue_stack, does_not_grow_with_the_number_of_tasks) {
  for (unsigned workers : {0u, 1u, 3u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato_test::with_workers(workers));
    unsigned const last = scaled(200'000);
    std::atomic<std::uintptr_t> widest = 0;
    struct chain {
      static void step(rubato::pool& p, std::atomic<std::uintptr_t>& w, unsigned left) {
        // Where tasks begin on the stack of this thread: the first to be seen, and how far others are from
        // it.
        thread_local std::uintptr_t first = 0;
        thread_local rubato::pool const* of = nullptr;
        auto const here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
        if (of != &p) first = here, of = &p;
        std::uintptr_t const distance = here > first ? here - first : first - here;
        std::uintptr_t seen = w.load();
        while (distance > seen && !w.compare_exchange_weak(seen, distance)) {
        }
        if (left > 0) p.enqueue([&p, &w, left] { step(p, w, left - 1); });
      }
    };
    pool.enqueue([&] { chain::step(pool, widest, last); });
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_LT(widest, 64u << 10);
  }
}

} // namespace
