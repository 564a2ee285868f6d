// A strand keeps its order, and is queued in its highest waiting priority.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "support/counting.hpp"
#include "support/hang_guard.hpp"
#include "support/pools.hpp"
#include "support/priority_log.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using rubato::priority;

class strand_with_priorities : public rubato_test::on_workers {};
RUBATO_TEST_WITH_WORKERS(strand_with_priorities, all_counts);

TEST_P(strand_with_priorities, keeps_its_order) {
  rubato::strand s(pool);
  std::size_t const n = rubato_test::scaled(2'000);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i != n; ++i)
    s.enqueue(static_cast<priority>(i % 3), [&, i] { order.push_back(i); });
  EXPECT_TRUE(pool.wait_idle());
  ASSERT_EQ(order.size(), n);
  for (std::size_t i = 0; i != n; ++i) ASSERT_EQ(order[i], i);
}

TEST_P(strand_with_priorities, runs_one_task_at_a_time_and_each_once) {
  constexpr std::size_t threads = 4;
  std::size_t const each = rubato_test::scaled(400);
  rubato::strand s(pool);
  rubato_test::tally tasks(threads * each);
  std::atomic<int> inside = 0;
  std::atomic<bool> alone = true;
  auto coroutine = [&](std::size_t i) -> rubato::task<void> {
    if (inside.fetch_add(1) != 0) alone = false;
    co_await rubato::yield();
    tasks.hit(i);
    inside.fetch_sub(1);
  };
  {
    std::vector<std::jthread> all;
    for (std::size_t t = 0; t != threads; ++t)
      all.emplace_back([&, t] {
        for (std::size_t i = t * each; i != (t + 1) * each; ++i) {
          auto const c = static_cast<priority>((i * 7 + t) % 3);
          if (i % 2 == 0)
            s.enqueue(c, coroutine(i));
          else
            s.enqueue(c, [&, i] {
              if (inside.fetch_add(1) != 0) alone = false;
              tasks.hit(i);
              inside.fetch_sub(1);
            });
        }
      });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(eventually([&] { return inside == 0; }));
  tasks.expect_each_once();
  EXPECT_TRUE(alone);
}

TEST_P(strand_with_priorities, gives_results) {
  rubato::strand s(pool);
  for (priority const c : {priority::high, priority::normal, priority::low}) {
    EXPECT_EQ(s.spawn(c, [](int n) { return n + 1; }, 41).get(), 42);
    auto coroutine = []() -> rubato::task<int> { co_return 7; };
    EXPECT_EQ(s.spawn(c, coroutine()).get(), 7);
  }
}

class lone_strand : public testing::Test {
protected:
  rubato_test::hang_guard guard;
  task_log log;
  rubato::pool pool{alone(1)};
};

TEST_F(lone_strand, moves_what_waits_before_a_high_task) {
  {
    rubato::strand s(pool);
    held_workers held(pool);
    for (int i = 0; i != 5; ++i) s.enqueue(priority::low, [&] { log.add("strand"); });
    for (int i = 0; i != 20; ++i) pool.enqueue([&] { log.add("normal"); });
    s.enqueue(priority::high, [&] { log.add("strand"); });
  }
  EXPECT_TRUE(pool.wait_idle());
  ASSERT_EQ(log.size(), 26u);
  EXPECT_LE(log.before_last("normal", "strand"), 1u);
}

TEST_F(lone_strand, moves_what_waits_before_a_normal_task) {
  {
    rubato::strand s(pool);
    held_workers held(pool);
    for (int i = 0; i != 20; ++i) pool.enqueue(priority::low, [&] { log.add("low"); });
    for (int i = 0; i != 5; ++i) s.enqueue(priority::low, [&] { log.add("strand"); });
    s.enqueue([&] { log.add("strand"); });
  }
  EXPECT_TRUE(pool.wait_idle());
  ASSERT_EQ(log.size(), 26u);
  EXPECT_LE(log.before_last("low", "strand"), 1u);
}

/// A later task of a lower priority does not share it.
TEST_F(lone_strand, leaves_what_waits_behind_a_high_task) {
  {
    rubato::strand s(pool);
    held_workers held(pool);
    s.enqueue(priority::high, [&] { log.add("first"); });
    s.enqueue(priority::low, [&] { log.add("second"); });
    for (int i = 0; i != 20; ++i) pool.enqueue([&] { log.add("normal"); });
  }
  EXPECT_TRUE(pool.wait_idle());
  ASSERT_EQ(log.size(), 22u);
  EXPECT_LE(log.before_last("normal", "first"), 1u);
  EXPECT_GE(log.before_last("normal", "second"), 19u);
}

/// The task of the strand's turn is a coroutine that waits: its next resumption is in the new priority.
TEST_F(lone_strand, moves_a_coroutine_whose_turn_it_is) {
  for (bool const queued_before : {false, true}) {
    rubato::async_mutex m;
    ASSERT_TRUE(m.try_acquire());
    std::atomic<bool> waits = false;
    auto coroutine = [&]() -> rubato::task<void> {
      waits = true;
      co_await m.acquire();
      m.release();
      log.add("strand");
      co_await rubato::yield(); // its old entry may still be in the queue of low priority
      log.add("strand");
    };
    {
      rubato::strand s(pool);
      s.enqueue(priority::low, coroutine());
      ASSERT_TRUE(eventually([&] { return waits.load(); }));
      held_workers held(pool);
      for (int i = 0; i != 20; ++i) pool.enqueue([&] { log.add("normal"); });
      if (queued_before) m.release();
      s.enqueue(priority::high, [&] { log.add("strand"); });
      if (!queued_before) m.release();
    }
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_TRUE(eventually([&] { return log.size() == (queued_before ? 46u : 23u); }));
    EXPECT_LE(log.before_last("normal", "strand"), queued_before ? 22u : 1u);
  }
}

TEST_F(lone_strand, is_dropped_at_a_discard_with_all_that_was_moved) {
  std::atomic<int> ran = 0;
  {
    rubato::strand s(pool);
    std::vector<rubato::future<void>> all;
    {
      held_workers held(pool);
      for (int i = 0; i != 5; ++i) all.push_back(s.spawn(priority::low, [&] { ++ran; }));
      all.push_back(s.spawn(priority::high, [&] { ++ran; }));
      pool.request_shutdown(rubato::discard);
    }
    pool.shutdown();
    for (auto& f : all) EXPECT_THROW(f.get(), std::future_error);
  }
  EXPECT_EQ(ran, 0);
}

/// The old entries of raised tasks are swept, as those of tasks that a waiter has claimed.
TEST_F(lone_strand, regression_does_not_pile_up_old_entries) {
  std::size_t most = 0;
  rubato::strand s(pool);
  struct chain {
    rubato::pool& pool;
    rubato::strand& strand;
    std::size_t& most;
    void turn(int left) {
      strand.enqueue(priority::low, [] {});
      strand.enqueue(priority::high, [] {});
      if (left % 64 == 0) most = std::max(most, pool.stats().of(priority::low).queued);
      if (left != 0) pool.enqueue([this, left] { turn(left - 1); }); // never out of normal work
    }
  } c{pool, s, most};
  pool.enqueue([&] { c.turn(5'000); });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_LE(most, 1'000u);
}

} // namespace
