// What waits gives up its place: ready work runs beside threads that wait, with few spare threads and with
// none.
#include <gtest/gtest.h>

#include "support/jitter.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/join.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <thread>
#include <vector>

using namespace rubato_test;

namespace {

class waiting : public on_workers {};
RUBATO_TEST_WITH_WORKERS(waiting, counts_in_parallel);

TEST_P(waiting, of_two_joins_lets_a_thousand_tasks_run_beside_them) {
  // Two threads wait, each for a half that another runs; the innermost half ends only after the tasks.
  arrivals ran;
  pool.run([&] {
    milestone first;
    rubato::join([&] { ASSERT_TRUE(first.wait()); },
                 [&] {
                   first.reach();
                   milestone second;
                   rubato::join([&] { ASSERT_TRUE(second.wait()); },
                                [&] {
                                  second.reach();
                                  for (int i = 0; i != 1'000; ++i) pool.enqueue([&] { ran.arrive(); });
                                  ASSERT_TRUE(ran.wait_for(1'000));
                                });
                 });
  });
  EXPECT_EQ(ran.count(), 1'000U);
}

TEST_P(waiting, of_many_joins_lets_tasks_run_beside_them) {
  // More threads wait than there are workers.
  arrivals ran;
  struct chain {
    static void wait_below(unsigned depth, rubato::pool& pool, arrivals& ran) {
      if (depth == 0) {
        for (int i = 0; i != 100; ++i) pool.enqueue([&] { ran.arrive(); });
        EXPECT_TRUE(ran.wait_for(100));
        return;
      }
      milestone begun;
      rubato::join([&] { EXPECT_TRUE(begun.wait()); },
                   [&] {
                     begun.reach();
                     wait_below(depth - 1, pool, ran);
                   });
    }
  };
  pool.run([&] { chain::wait_below(GetParam() + 5, pool, ran); });
  EXPECT_EQ(ran.count(), 100U);
}

TEST_P(waiting, of_loops_scopes_and_groups_lets_tasks_run_beside) {
  arrivals ran;
  auto const tasks = [&](std::size_t total) {
    for (int i = 0; i != 100; ++i) pool.enqueue([&] { ran.arrive(); });
    EXPECT_TRUE(ran.wait_for(total));
  };
  /// One of two parts holds out until the other has run it dry.
  auto const hold_out = [&](std::size_t total, milestone& begun, bool last) {
    if (last) {
      begun.reach();
      tasks(total);
    } else {
      EXPECT_TRUE(begun.wait());
    }
  };
  pool.run([&] {
    milestone loop;
    rubato::for_index(0, 2, [&](int i) { hold_out(100, loop, i == 1); });
    milestone scope;
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn([&] { hold_out(200, scope, true); });
      EXPECT_TRUE(scope.wait());
    });
    milestone group;
    rubato::task_group g(pool);
    g.spawn([&] { hold_out(300, group, true); });
    EXPECT_TRUE(group.wait());
    g.wait();
  });
  EXPECT_EQ(ran.count(), 300U);
}

TEST_P(waiting, of_a_half_on_another_worker_lets_loops_use_this_one) {
  // While the outer join waits, its place belongs to the loop that the handed-over half runs.
  rendezvous all(GetParam());
  std::atomic<unsigned> met{0};
  pool.run([&] {
    milestone begun;
    rubato::join([&] { EXPECT_TRUE(begun.wait()); },
                 [&] {
                   begun.reach();
                   rubato::for_index(0U, GetParam(), [&](unsigned) { met += all.meet(); });
                 });
  });
  EXPECT_EQ(met.load(), GetParam());
}

/// Few spares to stand in for threads that wait.
class with_few_spares : public testing::TestWithParam<std::tuple<unsigned, unsigned>> {
protected:
  hang_guard guard;
  rubato::pool pool{rubato_test::with_workers(std::get<0>(GetParam())).spares(std::get<1>(GetParam()))};
};
INSTANTIATE_TEST_SUITE_P(workers_and_spares, with_few_spares,
                         testing::Combine(testing::Values(1U, 2U, 7U), testing::Values(0U, 1U, 3U)),
                         [](auto const& parameter) {
                           return std::to_string(std::get<0>(parameter.param)) + "_and_" +
                                  std::to_string(std::get<1>(parameter.param));
                         });

std::uint64_t tree(int depth, std::uint32_t seed) {
  std::uint32_t const mixed = seed * 2654435761U;
  if (depth == 0) {
    if (mixed % 8 == 0) jitter::spin(std::chrono::microseconds(20));
    return 1;
  }
  if (mixed % 3 == 0) {
    std::atomic<std::uint64_t> sum{0};
    rubato::with_scope([&](rubato::scope& s) {
      for (std::uint32_t i = 0; i != 2; ++i) s.spawn([&, i] { sum += tree(depth - 1, mixed + i); });
    });
    return sum;
  }
  if (mixed % 3 == 1) {
    std::atomic<std::uint64_t> sum{0};
    rubato::for_index(0U, 2U, [&](std::uint32_t i) { sum += tree(depth - 1, mixed + i); });
    return sum;
  }
  auto [a, b] =
      rubato::join([&] { return tree(depth - 1, mixed); }, [&] { return tree(depth - 1, mixed + 1); });
  return a + b;
}

TEST_P(with_few_spares, everything_that_is_ready_runs) {
  std::atomic<std::uint64_t> leaves{0};
  auto const trees = static_cast<std::uint32_t>(scaled(200));
  for (std::uint32_t i = 0; i != trees; ++i) pool.enqueue([&, i] { leaves += tree(6, i); });
  for (std::uint32_t i = 0; i != trees; ++i) leaves += pool.run([&] { return tree(6, i + trees); });
  pool.wait_idle();
  EXPECT_EQ(leaves.load(), std::uint64_t{trees} * 2 * 64);
}

TEST_P(with_few_spares, tasks_run_what_they_wait_for_themselves) {
  // Each task waits for a group whose only child waits for the next group, and so on: more waits than
  // threads.
  constexpr std::size_t length = 64;
  std::list<rubato::task_group> groups;
  for (std::size_t i = 0; i != length; ++i) groups.emplace_back(pool);
  std::atomic<std::size_t> passed{0};
  auto next = groups.begin();
  for (auto group = next++; group != groups.end(); ++group) {
    auto* const after = next == groups.end() ? nullptr : &*next++;
    group->spawn([&passed, after] {
      if (after) after->wait();
      ++passed;
    });
  }
  for (auto& group : groups) {
    pool.enqueue([&] { group.wait(); });
  }
  pool.run([&] { groups.front().wait(); });
  pool.wait_idle();
  EXPECT_EQ(passed.load(), length);
}

TEST_P(with_few_spares, many_tasks_may_wait_for_one_child) {
  rubato::task_group group(pool);
  milestone go;
  arrivals waiting;
  std::atomic<int> through{0};
  group.spawn([&] { EXPECT_TRUE(go.wait()); });
  for (int i = 0; i != 50; ++i) {
    pool.enqueue([&] {
      waiting.arrive();
      group.wait();
      ++through;
    });
  }
  auto const [workers, spares] = GetParam();
  std::thread outside([&, threads = workers + spares] {
    // A single thread may have begun with the child, and then no task is before it.
    if (threads != 1) static_cast<void>(waiting.wait_for(1));
    go.reach();
  });
  outside.join();
  pool.wait_idle();
  EXPECT_EQ(through.load(), 50);
}

} // namespace
