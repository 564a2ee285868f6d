// broadcast: once on every seat, and a result from each.
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/hang_guard.hpp"
#include "support/scale.hpp"
#include "support/trees.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

TEST(broadcast, calls_once_per_seat_and_collects_the_results) {
  for (unsigned workers : {1u, 2u, 7u, 33u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(workers);
    std::atomic<unsigned> calls = 0;
    std::vector<unsigned> results = pool.broadcast([&] { return calls.fetch_add(1); });
    EXPECT_EQ(calls, workers);
    ASSERT_EQ(results.size(), workers);
    std::ranges::sort(results);
    for (unsigned i = 0; i < workers; ++i) EXPECT_EQ(results[i], i);
  }
}

TEST(broadcast, reaches_all_seats_at_once) {
  // Every copy waits for all the others: no thread can have two of them.
  for (unsigned workers : {1u, 2u, 7u, 33u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(workers);
    rendezvous all(workers);
    for (bool met : pool.broadcast([&] { return all.meet(); })) EXPECT_TRUE(met);
  }
}

TEST(broadcast, runs_inside_the_pool) {
  rubato::pool pool(3);
  for (bool right : pool.broadcast([&] {
         return rubato::current_pool() == &pool && rubato::current_worker() &&
                *rubato::current_worker() < pool.slots();
       })) {
    EXPECT_TRUE(right);
  }
}

TEST(broadcast, of_a_void_callable_returns_when_all_have_run) {
  rubato::pool pool(5);
  std::atomic<int> calls = 0;
  static_assert(std::is_void_v<decltype(pool.broadcast([&] { ++calls; }))>);
  pool.broadcast([&] { ++calls; });
  EXPECT_EQ(calls, 5);
}

TEST(broadcast, returns_move_only_values_and_references) {
  rubato::pool pool(4);
  auto const owned = pool.broadcast([] { return std::make_unique<int>(3); });
  ASSERT_EQ(owned.size(), 4u);
  for (auto const& p : owned) EXPECT_EQ(*p, 3);

  int object = 0;
  std::vector<std::reference_wrapper<int>> const references =
      pool.broadcast([&]() -> int& { return object; });
  ASSERT_EQ(references.size(), 4u);
  for (int& r : references) EXPECT_EQ(&r, &object);
}

TEST(broadcast, gives_a_stop_token_to_callables_that_take_one) {
  rubato::pool pool(2);
  for (bool stopped : pool.broadcast([](std::stop_token token) { return token.stop_requested(); })) {
    EXPECT_FALSE(stopped);
  }
}

TEST(broadcast, in_a_pool_without_workers_calls_nothing) {
  rubato::pool pool(rubato::no_workers);
  int calls = 0;
  EXPECT_TRUE(pool.broadcast([&] { return ++calls; }).empty());
  pool.broadcast([&] { ++calls; });
  EXPECT_EQ(calls, 0);
}

TEST(broadcast, throws_what_a_copy_throws_when_all_have_ended) {
  rubato::pool pool(4);
  std::atomic<int> begun = 0, ended = 0;
  EXPECT_THROW(pool.broadcast([&] {
    int const mine = ++begun;
    if (mine == 2) {
      ++ended;
      throw std::runtime_error("the second");
    }
    std::this_thread::sleep_for(2ms);
    ++ended;
  }),
               std::runtime_error);
  EXPECT_EQ(begun, ended) << "it returned while copies were under way";
  EXPECT_EQ(pool.broadcast([] { return 1; }).size(), 4u);
}

TEST(broadcast, from_a_task_includes_the_seat_of_the_caller) {
  for (unsigned workers : {1u, 2u, 5u}) {
    for (unsigned spares : {0u, 8u}) {
      SCOPED_TRACE(workers);
      rubato::pool pool(rubato::pool_options().workers(workers).spares(spares));
      std::atomic<std::size_t> results = 0;
      std::atomic<unsigned> calls = 0;
      pool.enqueue([&] { results = pool.broadcast([&] { return ++calls; }).size(); });
      EXPECT_TRUE(pool.wait_idle());
      EXPECT_EQ(results, workers);
      EXPECT_EQ(calls, workers);
    }
  }
}

TEST(broadcast, from_two_tasks_at_once_does_not_deadlock) {
  // Each waits for the seat of the other.
  for (unsigned spares : {0u, 8u}) {
    SCOPED_TRACE(spares);
    rubato::pool pool(rubato::pool_options().workers(2).spares(spares));
    for (unsigned round = 0; round < scaled(300); ++round) {
      rendezvous both(2);
      std::atomic<unsigned> calls = 0;
      for (int i = 0; i < 2; ++i) {
        pool.enqueue([&] {
          EXPECT_TRUE(both.meet());
          pool.broadcast([&] { ++calls; });
        });
      }
      ASSERT_TRUE(pool.wait_idle());
      ASSERT_EQ(calls, 4u);
    }
  }
}

TEST(broadcast, from_every_worker_at_once_does_not_deadlock) {
  for (unsigned spares : {0u, 8u}) {
    SCOPED_TRACE(spares);
    rubato::pool pool(rubato::pool_options().workers(5).spares(spares));
    std::atomic<unsigned> calls = 0;
    rendezvous all(5);
    for (int i = 0; i < 5; ++i) {
      pool.enqueue([&] {
        EXPECT_TRUE(all.meet());
        pool.broadcast([&] { ++calls; });
      });
    }
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(calls, 25u);
  }
}

TEST(broadcast, from_many_threads_and_inside_run_at_once) {
  rubato::pool pool(3);
  std::atomic<unsigned> calls = 0;
  unsigned const rounds = scaled(100);
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < 4; ++t) {
      callers.emplace_back([&, t] {
        for (unsigned i = 0; i < rounds; ++i) {
          if (t % 2 == 0) {
            pool.broadcast([&] { ++calls; });
          } else {
            pool.run([&] { pool.broadcast([&] { ++calls; }); });
          }
        }
      });
    }
  }
  EXPECT_EQ(calls, 4 * rounds * 3);
}

TEST(broadcast, inside_a_broadcast_does_not_deadlock) {
  rubato::pool pool(3);
  std::atomic<unsigned> calls = 0;
  pool.broadcast([&] { pool.broadcast([&] { ++calls; }); });
  EXPECT_EQ(calls, 9u);
}

TEST(broadcast, reaches_a_seat_whose_task_waits) {
  // The task waits, in the pool's knowledge, for what only the broadcast brings.
  rubato::pool pool(1);
  gate opened;
  std::atomic<bool> begun = false, passed = false;
  pool.enqueue([&] {
    begun = true;
    passed = rubato::blocking([&] { return opened.wait(); });
  });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  pool.broadcast([&] { opened.open(); });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(passed);
}

TEST(broadcast, serves_the_idle_seats_while_another_computes) {
  rubato::pool pool(2);
  std::atomic<bool> begun = false, end = false;
  pool.enqueue([&] {
    begun = true;
    computing_until([&] { return end.load(); });
  });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  std::atomic<unsigned> calls = 0;
  std::jthread const caller([&] { pool.broadcast([&] { ++calls; }); });
  EXPECT_TRUE(eventually([&] { return calls >= 1; })) << "the idle seat can be served at once";
  end = true;
  EXPECT_TRUE(eventually([&] { return calls == 2; }));
}

TEST(broadcast, while_the_pool_is_resized_brings_one_per_call) {
  rubato::pool pool(3);
  std::jthread const resizer([&](std::stop_token stop) {
    for (unsigned i = 0; !stop.stop_requested(); ++i) {
      pool.resize(i * 3 % 7);
      if (i % 8 == 0) std::this_thread::sleep_for(100us);
    }
  });
  for (unsigned i = 0; i < scaled(500); ++i) {
    std::atomic<std::size_t> calls = 0;
    std::size_t const results = pool.broadcast([&] { return ++calls; }).size();
    ASSERT_EQ(results, calls);
    ASSERT_LE(results, 6u);
  }
}

TEST(broadcast, with_joins_in_it) {
  rubato::pool pool(4);
  for (auto sum : pool.broadcast([] { return forked_sum(0, 500); })) EXPECT_EQ(sum, sum_below(500));
}

TEST(broadcast, regression_below_another_run_runs_its_seats_copy) {
  rubato_test::hang_guard const guard;
  for (unsigned const workers : {1u, 2u}) {
    rubato::pool pool(workers), other(1);
    std::atomic<unsigned> ran = 0;
    pool.enqueue([&] { other.run([&] { pool.broadcast([&] { ++ran; }); }); });
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(ran, workers);
  }
}

} // namespace
