// get(), wait() and block_on() anywhere: a wait never keeps what it waits for from running.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

class async_waiting : public on_workers {};
RUBATO_TEST_WITH_WORKERS(async_waiting, all_counts);

TEST_P(async_waiting, in_a_task_for_a_task_that_has_not_begun) {
  EXPECT_EQ(pool.spawn([this] { return pool.spawn([] { return 1; }).get() + 1; }).get(), 2);
  EXPECT_EQ(failure_of([this] {
              pool.spawn([this] { return pool.spawn([]() -> int { throw failure(3); }).get(); }).get();
            }),
            3);
}

TEST_P(async_waiting, nested_a_thousand_deep) {
  std::function<int(int)> const deep = [&](int left) {
    return left == 0 ? 0 : pool.spawn([&, left] { return deep(left - 1); }).get() + 1;
  };
  int const depth = under_tsan ? 100 : 1'000;
  EXPECT_EQ(pool.spawn([&] { return deep(depth); }).get(), depth);
}

TEST_P(async_waiting, of_many_tasks_for_tasks_that_have_not_begun) {
  std::size_t const n = scaled(10'000);
  std::vector<rubato::future<std::size_t>> waiters;
  waiters.reserve(n);
  for (std::size_t i = 0; i != n; ++i)
    waiters.push_back(pool.spawn([this, i] {
      auto inner = pool.spawn([i] { return i; });
      return inner.get();
    }));
  for (std::size_t i = 0; i != n; ++i) ASSERT_EQ(waiters[i].get(), i);
}

TEST_P(async_waiting, of_many_tasks_for_those_queued_before_them) {
  std::size_t const n = scaled(10'000);
  std::vector<rubato::shared_future<std::size_t>> work;
  std::vector<rubato::future<std::size_t>> waiters;
  for (std::size_t i = 0; i != n; ++i) work.push_back(pool.spawn([i] { return i; }).share());
  // from the last to the first, so that the awaited work lies far back in the queues
  for (std::size_t i = n; i-- != 0;) waiters.push_back(pool.spawn([f = work[i]] { return f.get(); }));
  for (std::size_t i = 0; i != n; ++i) ASSERT_EQ(waiters[i].get(), n - 1 - i);
}

TEST_P(async_waiting, of_each_task_for_the_next) {
  // A chain of dependences, queued in the wrong order: each waits for one that comes later.
  std::size_t const n = 500;
  std::vector<rubato::promise<rubato::shared_future<std::size_t>>> links(n + 1);
  std::vector<rubato::shared_future<rubato::shared_future<std::size_t>>> handles;
  for (auto& l : links) handles.push_back(l.get_future().share());
  std::vector<rubato::shared_future<std::size_t>> tasks(n + 1);
  tasks[n] = rubato::make_ready_future(std::size_t{0}).share();
  links[n].set_value(tasks[n]);
  for (std::size_t i = n; i-- != 0;) {
    tasks[i] = pool.spawn([next = handles[i + 1]] { return next.get().get() + 1; }).share();
    links[i].set_value(tasks[i]);
  }
  EXPECT_EQ(tasks[0].get(), n);
}

TEST_P(async_waiting, without_spares) {
  if (pool.size() == 0) return;
  rubato::pool small(rubato::pool_options().workers(pool.size()).spares(0));
  std::function<int(int)> const tree = [&](int depth) -> int {
    if (depth == 0) return 1;
    auto left = small.spawn([&, depth] { return tree(depth - 1); });
    auto right = small.spawn([&, depth]() -> rubato::task<int> { co_return tree(depth - 1); });
    return left.get() + right.get();
  };
  int const depth = under_tsan ? 6 : 9;
  EXPECT_EQ(small.spawn([&] { return tree(depth); }).get(), 1 << depth);
}

TEST_P(async_waiting, of_pools_for_each_other) {
  rubato::pool other(rubato_test::with_workers(GetParam()));
  std::function<int(int)> const ping = [&](int left) -> int {
    auto& next = left % 2 == 0 ? pool : other;
    return left == 0 ? 0 : next.spawn([&, left] { return ping(left - 1); }).get() + 1;
  };
  int const depth = under_tsan || under_asan ? 40 : 200;
  std::vector<rubato::future<int>> all;
  for (int i = 0; i != 8; ++i) all.push_back((i % 2 == 0 ? pool : other).spawn([&] { return ping(depth); }));
  for (auto& f : all) EXPECT_EQ(f.get(), depth);
}

TEST_P(async_waiting, of_three_pools_in_a_circle) {
  rubato::pool second(1);
  rubato::pool third(rubato::pool_options().workers(1).spares(0));
  EXPECT_EQ(
      pool.spawn([&] {
            return second
                       .spawn([&] {
                         return third.spawn([&] { return pool.spawn([] { return 1; }).get() + 1; }).get() + 1;
                       })
                       .get() +
                   1;
          })
          .get(),
      4);
}

rubato::task<int> number(int n) {
  co_await rubato::yield();
  co_return n;
}

TEST_P(async_waiting, block_on_takes_all_that_can_be_awaited) {
  EXPECT_EQ(pool.block_on(number(1)), 1);
  auto named = number(5);
  EXPECT_EQ(pool.block_on(named), 5);
  EXPECT_EQ(pool.block_on(pool.spawn([] { return 2; })), 2);
  EXPECT_EQ(pool.block_on(pool.spawn([] { return 3; }).share()), 3);
  pool.block_on(rubato::sleep_for(1us));
  pool.block_on(rubato::yield());
  int object = 0;
  auto const refers = [](int& r) -> rubato::task<int&> { co_return r; };
  EXPECT_EQ(&pool.block_on(refers(object)), &object);
  auto const fails = []() -> rubato::task<void> {
    co_await rubato::yield();
    throw failure(4);
  };
  EXPECT_EQ(failure_of([&] { pool.block_on(fails()); }), 4);
}

TEST_P(async_waiting, block_on_deep_inside_joins) {
  std::function<int(int)> const tree = [&](int depth) -> int {
    if (depth == 0) return rubato::block_on(number(1));
    auto const [a, b] = rubato::join([&] { return tree(depth - 1); }, [&] { return tree(depth - 1); });
    return a + b;
  };
  int const depth = under_tsan ? 6 : 10;
  EXPECT_EQ(pool.run([&] { return tree(depth); }), 1 << depth);
  EXPECT_EQ(pool.spawn([&] { return tree(depth); }).get(), 1 << depth);
}

TEST_P(async_waiting, block_on_inside_loops_and_coroutines) {
  std::atomic<int> sum{0};
  pool.run([&] { rubato::for_index(0, 200, [&](int i) { sum += rubato::block_on(number(i)); }); });
  EXPECT_EQ(sum, 19'900);
  auto const blocks = []() -> rubato::task<int> {
    co_await rubato::yield();
    int const n = rubato::block_on(number(5));
    co_await rubato::yield();
    co_return n;
  };
  EXPECT_EQ(pool.spawn(blocks).get(), 5);
}

TEST_P(async_waiting, in_the_half_of_a_join_for_a_task_of_the_other) {
  EXPECT_EQ(pool.run([&] {
    auto const [a, b] = rubato::join([&] { return pool.spawn([] { return 1; }).get(); },
                                     [&] { return pool.spawn([] { return 2; }).get(); });
    return a + b;
  }),
            3);
}

TEST_P(async_waiting, for_a_time) {
  rubato::promise<int> p;
  auto f = p.get_future();
  EXPECT_FALSE(f.wait_for(0s));
  EXPECT_FALSE(f.wait_for(-1h));
  EXPECT_FALSE(f.wait_for(2ms));
  auto const end = std::chrono::steady_clock::now() + 2ms;
  EXPECT_FALSE(f.wait_until(end));
  EXPECT_GE(std::chrono::steady_clock::now(), end);
  EXPECT_FALSE(pool.run([&] { return f.wait_for(2ms); }));
  EXPECT_FALSE(pool.spawn([&] { return f.wait_for(2ms); }).get());
  EXPECT_TRUE(f.valid());
  p.set_value(1);
  EXPECT_TRUE(f.wait_for(0s));
  EXPECT_TRUE(f.wait_for(std::chrono::hours::max()));
  EXPECT_TRUE(f.wait_until(rubato::never));
  EXPECT_TRUE(pool.run([&] { return f.wait_for(0s); }));
  EXPECT_EQ(f.get(), 1);
}

TEST_P(async_waiting, for_a_time_runs_nothing_in_place) {
  auto const caller = std::this_thread::get_id();
  auto f = pool.spawn([] { return std::this_thread::get_id(); });
  if (pool.size() != 0) {
    EXPECT_TRUE(f.wait_for(rubato_test::bound));
    EXPECT_NE(f.get(), caller);
  }
}

TEST_P(async_waiting, for_ever_and_then_some) {
  std::atomic<bool> waits{false};
  rubato::promise<int> p;
  auto f = pool.spawn([&, inner = p.get_future()]() mutable {
    waits = true;
    EXPECT_TRUE(inner.wait_for(std::chrono::hours::max()));
    EXPECT_TRUE(inner.wait_until(rubato::never));
    return inner.get();
  });
  if (pool.size() == 0) p.set_value(2);
  if (pool.size() != 0) {
    EXPECT_TRUE(eventually([&] { return waits.load(); }));
    p.set_value(2);
  }
  EXPECT_EQ(f.get(), 2);
}

TEST_P(async_waiting, of_many_threads_for_one_pool) {
  std::size_t const n = scaled(300);
  std::vector<std::thread> threads;
  for (int t = 0; t != 6; ++t)
    threads.emplace_back([&] {
      for (std::size_t i = 0; i != n; ++i) {
        ASSERT_EQ(pool.spawn([i] { return i; }).get(), i);
        auto f = pool.spawn([i] { return i; });
        if (f.wait_for(std::chrono::microseconds(i % 50))) {
          ASSERT_EQ(f.get(), i);
        }
      }
    });
  for (auto& t : threads) t.join();
}

TEST_P(async_waiting, lets_the_seat_go_to_others) {
  if (pool.size() == 0) return;
  // More tasks than workers wait for what only a later task brings.
  std::size_t const n = 3 * pool.size() + 2;
  rubato::promise<int> p;
  auto const value = p.get_future().share();
  std::vector<rubato::future<int>> all;
  for (std::size_t i = 0; i != n; ++i) all.push_back(pool.spawn([value] { return value.get(); }));
  pool.enqueue([&p] { p.set_value(6); });
  for (auto& f : all) EXPECT_EQ(f.get(), 6);
}

} // namespace
