// Coroutines without end: no stack however often or deep they resume each other, and no frame that is left.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "support/jitter.hpp"
#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

/// Pools whose threads have little stack.
class on_small_stacks : public testing::TestWithParam<unsigned> {
protected:
  hang_guard guard;
  rubato::pool pool{rubato_test::with_workers(GetParam()).stack_size(std::size_t{256} * 1024)};
};
RUBATO_TEST_WITH_WORKERS(on_small_stacks, counts_with_workers);

rubato::task<std::size_t> one() { co_return std::size_t{1}; }

TEST_P(on_small_stacks, a_loop_that_awaits_ten_million_tasks) {
  auto const loop = [](std::size_t n) -> rubato::task<std::size_t> {
    std::size_t sum = 0;
    for (std::size_t i = 0; i != n; ++i) sum += co_await one();
    co_return sum;
  };
  std::size_t const n = scaled(10'000'000) / (GetParam() == 1 ? 1 : 10) + 1;
  EXPECT_EQ(pool.spawn(loop, n).get(), n);
}

rubato::task<std::size_t> down(std::size_t left) {
  if (left == 0) co_return std::size_t{0};
  std::size_t const below = co_await down(left - 1);
  co_return below + 1;
}

TEST_P(on_small_stacks, a_recursion_a_million_deep) {
  std::size_t const depth = scaled(1'000'000);
  for (int i = 0; i != 2; ++i) EXPECT_EQ(pool.spawn(down(depth)).get(), depth);
}

rubato::task<std::size_t> down_and_wait(std::size_t left, rubato::shared_future<void> gate) {
  if (left == 0) {
    co_await gate;
    co_return std::size_t{0};
  }
  std::size_t const below = co_await down_and_wait(left - 1, gate);
  co_return below + 1;
}

TEST_P(on_small_stacks, a_recursion_that_is_suspended_at_its_end) {
  std::size_t const depth = scaled(100'000);
  rubato::promise<void> p;
  auto f = pool.spawn(down_and_wait(depth, p.get_future().share()));
  pool.wait_idle();
  p.set_value();
  EXPECT_EQ(f.get(), depth);
}

rubato::task<void> down_and_throw(std::size_t left) {
  if (left == 0) throw failure(1);
  co_await down_and_throw(left - 1);
}

TEST_P(on_small_stacks, an_exception_through_a_deep_recursion) {
  EXPECT_EQ(failure_of([&] { pool.spawn(down_and_throw(scaled(20'000))).get(); }), 1);
}

rubato::task<int> get_in_place(int levels, int nested) {
  if (nested != 0) co_return co_await get_in_place(levels, nested - 1);
  if (levels == 0) co_return 0;
  co_return rubato::spawn(get_in_place(levels - 1, 100)).get() + 1;
}

// Each level may take 16 KiB for coroutines that call each other, but not where less than half of the stack
// is left.
TEST(small_stacks, are_enough_for_gets_in_place_inside_each_other) {
  // A sanitizer makes frames several times as large.
  std::size_t const kib = under_asan || under_tsan ? 4'096 : 256;
  rubato::pool pool{rubato_test::with_workers(1).stack_size(kib * 1024)};
  EXPECT_EQ(pool.spawn(get_in_place(64, 100)).get(), 64);
}

TEST_P(on_small_stacks, coroutines_that_yield_to_each_other) {
  auto const loop = [](std::size_t n) -> rubato::task<std::size_t> {
    for (std::size_t i = 0; i != n; ++i) co_await rubato::yield();
    co_return n;
  };
  std::size_t const n = scaled(300'000);
  std::vector<rubato::future<std::size_t>> all;
  for (int i = 0; i != 3; ++i) all.push_back(pool.spawn(loop, n));
  for (auto& f : all) EXPECT_EQ(f.get(), n);
}

TEST_P(on_small_stacks, a_chain_of_activities_each_awaiting_the_next) {
  struct link {
    static rubato::task<std::size_t> make(rubato::pool& p, std::size_t left) {
      if (left == 0) co_return std::size_t{0};
      auto next = p.spawn(make(p, left - 1));
      std::size_t const below = co_await std::move(next);
      co_return below + 1;
    }
  };
  std::size_t const n = scaled(100'000);
  EXPECT_EQ(pool.spawn(link::make(pool, n)).get(), n);
}

TEST_P(on_small_stacks, ready_futures_without_end) {
  auto const loop = [](std::size_t n) -> rubato::task<std::size_t> {
    std::size_t sum = 0;
    for (std::size_t i = 0; i != n; ++i) sum += co_await rubato::make_ready_future(i);
    co_return sum;
  };
  std::size_t const n = scaled(1'000'000);
  EXPECT_EQ(pool.spawn(loop, n).get(), n * (n - 1) / 2);
}

// Frames

class frames : public on_workers {};
RUBATO_TEST_WITH_WORKERS(frames, all_counts);

/// Awaits one of everything, with something to lose in its frame.
rubato::task<int> long_way(rubato::pool& pool, rubato::shared_future<void> gate) {
  counted const mine(1);
  co_await rubato::yield();
  counted const more(2);
  co_await rubato::sleep_for(20us);
  auto spawned = pool.spawn([c = counted(3)] { return c.value; });
  int const a = co_await std::move(spawned);
  auto both = rubato::when_all(one(), pool.spawn([c = counted(4)] { return c.value; }));
  co_await std::move(both);
  auto limited = rubato::with_deadline(one(), 1h);
  co_await std::move(limited);
  co_await gate;
  co_return a + mine.value + more.value;
}

TEST_P(frames, are_not_left_when_futures_are_dropped_at_any_point) {
  std::size_t const rounds = scaled(400);
  jitter random(GetParam() + 1);
  {
    leak_check const none_left;
    for (std::size_t i = 0; i != rounds; ++i) {
      rubato::promise<void> p;
      auto const gate = p.get_future().share();
      auto f = pool.spawn(long_way(pool, gate));
      random.pause(100us);
      if (i % 4 == 0) p.set_value();
      if (i % 4 == 1) f.cancel();
      f = {};
      pool.wait_idle();
    }
  }
}

TEST_P(frames, are_not_left_when_the_pool_ends_at_any_point) {
  std::size_t const rounds = scaled(100);
  jitter random(GetParam() + 2);
  leak_check const none_left;
  for (std::size_t i = 0; i != rounds; ++i) {
    rubato::promise<void> p;
    rubato::future<int> f;
    {
      rubato::pool mortal(rubato_test::with_workers(GetParam()));
      f = mortal.spawn(long_way(mortal, p.get_future().share()));
      random.pause(100us);
      if (i % 2 == 0) mortal.shutdown(rubato::discard);
    }
    ASSERT_TRUE(f.ready());
    ASSERT_NE(outcome_of_get(f), outcome::value);
  }
}

TEST_P(frames, of_a_deep_recursion_are_destroyed_where_it_suspends) {
  std::size_t const depth = sized(20'000);
  rubato::promise<void> p;
  auto f = pool.spawn(down_and_wait(depth, p.get_future().share()));
  pool.wait_idle();
  f.cancel();
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  auto g = rubato::future<std::size_t>();
  {
    rubato::pool mortal(rubato_test::with_workers(GetParam()));
    rubato::promise<void> never;
    g = mortal.spawn(down_and_wait(depth, never.get_future().share()));
    mortal.wait_idle();
    mortal.shutdown(rubato::drain);
    EXPECT_EQ(outcome_of_get(g), outcome::broken);
  }
}

} // namespace
