// Scopes are listed for searchers only while they have a child that has not begun.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"

#include "sched/core/pool_core.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

using namespace rubato_test;

namespace {

/// How many scopes a search of the pool comes across.
unsigned listed_scopes(rubato::pool& pool) {
  rubato::detail::pool_core const& core = *rubato::detail::core_of(pool);
  unsigned n = core.external_scopes.open_scopes.get();
  core.threads.records.for_each([&](rubato::detail::pool_thread& t) { n += t.open_scopes.get(); });
  return n;
}

class scope_lists : public on_workers {};
RUBATO_TEST_WITH_WORKERS(scope_lists, all_counts);

TEST_P(scope_lists, regression_hold_no_idle_groups) {
  constexpr int count = 1000;
  std::atomic<int> ran{0};
  std::deque<rubato::task_group> groups;
  for (int i = 0; i != count; ++i) groups.emplace_back(pool).spawn([&] { ++ran; });
  ASSERT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, count);
  EXPECT_EQ(listed_scopes(pool), 0U);
  // The same by a thread of the pool, which waits.
  pool.run([&] {
    std::deque<rubato::task_group> mine;
    for (int round = 0; round != 2; ++round)
      for (int i = 0; i != count; ++i) {
        if (round == 0) mine.emplace_back(pool);
        mine[static_cast<std::size_t>(i)].spawn([&] { ++ran; });
        mine[static_cast<std::size_t>(i)].wait();
      }
    EXPECT_LE(listed_scopes(pool), 1U);
    // With a child they come back, and it is found.
    for (auto& g : mine) g.spawn([&] { ++ran; });
    for (auto& g : groups) g.spawn([&] { ++ran; });
  });
  ASSERT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 5 * count);
  EXPECT_EQ(listed_scopes(pool), 0U);
}

TEST_P(scope_lists, regression_hold_no_stopped_groups) {
  std::deque<rubato::task_group> groups;
  std::atomic<int> ran{0};
  for (int i = 0; i != 100; ++i) {
    groups.emplace_back(pool);
    groups.back().spawn([&] { ++ran; });
    groups.back().request_stop();
    groups.back().spawn([&] { ++ran; });
  }
  EXPECT_EQ(listed_scopes(pool), 0U);
  groups.clear();
  EXPECT_LE(ran, 100);
}

TEST_P(scope_lists, hold_no_scope_of_a_stopped_coroutine) {
  std::atomic<int> ran{0};
  pool.block_on([](std::atomic<int>& n) -> rubato::task<> {
    co_await rubato::with_async_scope(
        [](rubato::scope& s, std::atomic<int>& count) -> rubato::task<> {
          for (int i = 0; i != 100; ++i) s.spawn([&count] { ++count; });
          s.request_stop();
          s.spawn([&count] { ++count; });
          co_return;
        },
        std::ref(n));
  }(ran));
  EXPECT_LE(ran, 100);
  EXPECT_EQ(listed_scopes(pool), 0U);
}

TEST_P(scope_lists, regression_show_a_child_spawned_beside_a_wait) {
  // The waiter leaves the list at the moment when the spawner counts on being in it.
  if (GetParam() == 0) GTEST_SKIP() << "no thread would run it";
  rubato::task_group group(pool), other(pool);
  for (std::size_t round = 0, n = scaled(500); round != n; ++round) {
    milestone other_ran;
    std::atomic<bool> go{false};
    std::thread waiter([&] {
      other.spawn([] {});
      go = true;
      group.wait();
    });
    while (!go) std::this_thread::yield();
    group.spawn([&] { other_ran.reach(); });
    ASSERT_TRUE(other_ran.wait());
    waiter.join();
    other.wait();
  }
}

TEST_P(scope_lists, regression_a_spawn_leaves_alone_a_released_group) {
  if (GetParam() == 0) GTEST_SKIP() << "the spawner would run it itself";
  struct alignas(rubato::task_group) storage { // never in a coroutine
    std::byte bytes[sizeof(rubato::task_group)];
  };
  auto const memory = std::make_unique<storage>();
  std::atomic<std::size_t> ran{0}, gone{0};
  std::size_t const rounds = scaled(5000);
  std::thread destroyer([&] {
    for (std::size_t round = 1; round <= rounds; ++round) {
      while (ran < round) std::this_thread::yield();
      std::destroy_at(reinterpret_cast<rubato::task_group*>(memory.get()));
      std::memset(memory.get(), 0xee, sizeof(storage));
      gone = round;
      gone.notify_one();
    }
  });
  for (std::size_t round = 1; round <= rounds; ++round) {
    auto* const group = std::construct_at(reinterpret_cast<rubato::task_group*>(memory.get()), pool);
    group->spawn([&, round] { ran = round; });
    gone.wait(round - 1); // asleep: the worker has the core
  }
  destroyer.join();
}

TEST_P(scope_lists, regression_a_group_outlives_its_last_search) {
  // The owner has run the child itself, and ends the group at the moment when a search comes across it.
  struct alignas(rubato::task_group) storage { // never in a coroutine
    std::byte bytes[sizeof(rubato::task_group)];
  };
  auto const memory = std::make_unique<storage>();
  storage gone;
  std::memset(&gone, 0xee, sizeof(storage));
  std::atomic<bool> over{false};
  std::thread searches([&] { // workers that run out of work search
    while (!over) {
      if (pool.pending() < 10) pool.enqueue([] {});
      std::this_thread::yield();
    }
  });
  pool.run([&] {
    for (std::size_t round = 0, n = scaled(10'000); round != n; ++round) {
      auto* const group = std::construct_at(reinterpret_cast<rubato::task_group*>(memory.get()), pool);
      group->spawn([] {});
      group->wait();
      std::destroy_at(group);
      std::memset(memory.get(), 0xee, sizeof(storage));
      if (round % 16 == 0) std::this_thread::yield();
      ASSERT_EQ(std::memcmp(memory.get(), &gone, sizeof(storage)), 0) << "touched after its end";
    }
  });
  over = true;
  searches.join();
}

} // namespace
