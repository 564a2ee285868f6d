// Threads from outside: how many may be in a pool at the same time, and the records that they leave.
#include <rubato/detail/work/pool_port.hpp>
#include <rubato/join.hpp>
#include <rubato/per_worker.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <thread>

#include "sched/core/pool_core.hpp"
#include "support/hang_guard.hpp"
#include "support/scale.hpp"

namespace {

/// Enters `a` and `b` in turn, each within the other: every time as another guest.
unsigned enter(rubato::pool& a, rubato::pool& b, unsigned depth, rubato::per_worker<unsigned>& numbers) {
  if (depth == 0) return 0;
  rubato::membership const in_a = a.join_as_member();
  EXPECT_LT(*rubato::current_worker(), a.slots());
  numbers.local() = 1;
  rubato::membership const in_b = b.join_as_member();
  return 1 + enter(a, b, depth - 1, numbers);
}

TEST(guests, regression_more_than_1024_are_in_one_pool) {
  rubato_test::hang_guard const guard;
  constexpr unsigned many = 1'100;
  rubato::pool a(1), b(1);
  rubato::per_worker<unsigned> numbers(a);
  EXPECT_EQ(enter(a, b, many, numbers), many);
  EXPECT_EQ(numbers.combine([](unsigned x, unsigned y) { return x + y; }), many);
  EXPECT_TRUE(a.wait_idle());
  EXPECT_GE(a.slots(), 65'535u);
}

/// How many records a search visits.
unsigned visited(rubato::pool& pool) {
  unsigned n = 0;
  rubato::detail::core_of(pool)->threads.records.for_each([&](rubato::detail::pool_thread&) { ++n; });
  return n;
}

TEST(guests, regression_that_have_left_are_not_visited_by_searches) {
  rubato_test::hang_guard const guard;
  rubato::pool pool(2), other(2);
  rubato::per_worker<unsigned> numbers(pool);
  enter(pool, other, 500, numbers);
  EXPECT_EQ(visited(pool), 2u);
  rubato::membership const stays = pool.join_as_member();
  EXPECT_EQ(visited(pool), 3u);
}

TEST(guests, regression_that_left_leave_their_children_to_searches) {
  rubato_test::hang_guard const guard;
  rubato::pool pool(rubato::no_workers);
  int ran = 0;
  std::unique_ptr<rubato::task_group> group;
  pool.run([&] {
    group = std::make_unique<rubato::task_group>(pool);
    group->spawn([&] { ++ran; });
  });
  EXPECT_EQ(ran, 0);
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(visited(pool), 0u);
  group->spawn([&] { ++ran; }); // enters the list of the thread that has left
  EXPECT_EQ(visited(pool), 1u);
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(visited(pool), 0u);
}

TEST(guests, regression_that_come_and_go_lose_no_count_and_no_work) {
  rubato_test::hang_guard const guard;
  rubato::pool pool(2), other(1);
  rubato::per_worker<unsigned> numbers(pool);
  std::atomic<std::uint64_t> spawned = 0, wrong = 0;
  auto const bursts = [&] {
    for (unsigned i = 0; i < rubato_test::scaled(400); ++i) {
      std::atomic<unsigned> ran = 0;
      auto const task = [&] { ++ran; };
      std::unique_ptr<rubato::task_group> group;
      enter(pool, other, i % 100, numbers);
      pool.run([&] {
        group = std::make_unique<rubato::task_group>(pool);
        group->spawn(task);
        pool.enqueue(task);
        rubato::join([] {}, [] {});
      });
      wrong += !pool.wait_idle() || ran != 2;
      group->spawn(task); // its home has left
      wrong += !pool.wait_idle() || ran != 3;
      group->spawn(task);
      group->wait();
      wrong += ran != 4;
      spawned += 4;
    }
  };
  {
    std::jthread const reader([&](std::stop_token stop) {
      for (std::uint64_t before = 0; !stop.stop_requested();) {
        std::uint64_t const now = pool.stats().executed;
        wrong += now < before;
        before = now;
      }
    });
    std::jthread const a(bursts), b(bursts);
    bursts();
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(pool.stats().executed, spawned);
  EXPECT_EQ(visited(pool), 2u);
}

} // namespace
