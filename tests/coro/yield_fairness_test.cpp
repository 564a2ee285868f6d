// No task starves: not by coroutines that yield for ever, nor by spawners that never yield, nor by local work
// without end.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

class yield_fairness : public on_workers {};
RUBATO_TEST_WITH_WORKERS(yield_fairness, counts_with_workers);

class parallel_yields : public on_workers {};
RUBATO_TEST_WITH_WORKERS(parallel_yields, counts_in_parallel);

rubato::task<void> yields_until(std::atomic<bool> const& over, std::atomic<std::size_t>& begun) {
  co_await rubato::yield();
  ++begun;
  while (!over) co_await rubato::yield();
}

TEST_P(yield_fairness, coroutines_that_yield_for_ever_starve_no_task) {
  std::atomic<bool> over{false};
  std::atomic<std::size_t> begun{0};
  std::vector<rubato::future<void>> yielders;
  for (unsigned i = 0; i != 2 * pool.size(); ++i) yielders.push_back(pool.spawn(yields_until(over, begun)));
  EXPECT_TRUE(eventually([&] { return begun == yielders.size(); }));

  milestone from_outside;
  pool.enqueue([&] { from_outside.reach(); });
  EXPECT_TRUE(from_outside.wait());
  milestone from_within;
  pool.spawn([&] { pool.enqueue([&] { from_within.reach(); }); }).get();
  EXPECT_TRUE(from_within.wait());
  EXPECT_EQ(pool.spawn([] { return 1; }).then([](int n) { return n + 1; }).get(), 2);
  auto const sleeps = []() -> rubato::task<int> {
    co_await rubato::sleep_for(1ms);
    co_return 3;
  };
  EXPECT_EQ(pool.spawn(sleeps).get(), 3);
  milestone later;
  pool.enqueue_after(1ms, [&] { later.reach(); });
  EXPECT_TRUE(later.wait());
  EXPECT_EQ(pool.run([] { return rubato::join([] { return 1; }, [] { return 2; }).second; }), 2);
  std::atomic<int> loops{0};
  pool.run([&] { rubato::for_index(0, 100, [&](int) { ++loops; }); });
  EXPECT_EQ(loops, 100);
  rubato::with_scope(pool, [&](rubato::scope& s) { s.spawn([&] { ++loops; }); });
  EXPECT_EQ(loops, 101);
  for (unsigned seat = 0; seat != pool.size(); ++seat)
    EXPECT_EQ(pool.spawn_on(seat, [seat] { return seat; }).get(), seat);

  over = true;
  for (auto& f : yielders) f.get();
}

TEST_P(yield_fairness, all_yielders_make_progress) {
  std::size_t const enough = scaled(1'000);
  std::size_t const n = 3 * pool.size();
  std::vector<std::atomic<std::size_t>> turns(n);
  std::atomic<bool> over{false};
  auto const yields = [&](std::size_t i) -> rubato::task<void> {
    while (!over) {
      ++turns[i];
      co_await rubato::yield();
    }
  };
  std::vector<rubato::future<void>> all;
  for (std::size_t i = 0; i != n; ++i) all.push_back(pool.spawn(yields, i));
  EXPECT_TRUE(eventually([&] {
    for (auto const& t : turns)
      if (t < enough) return false;
    return true;
  }));
  over = true;
  for (auto& f : all) f.get();
}

TEST(yield_on_one_worker, lets_everything_that_is_ready_run_first) {
  hang_guard const guard;
  rubato::pool pool(rubato::pool_options().workers(1).spares(0)); // no thread relieves the worker
  std::vector<int> order;
  auto const f = [&]() -> rubato::task<void> {
    rubato::enqueue([&] { order.push_back(1); });
    rubato::enqueue([&] { order.push_back(2); });
    order.push_back(0);
    co_await rubato::yield();
    order.push_back(3);
  };
  pool.spawn(f).get();
  pool.wait_idle();
  ASSERT_EQ(order.size(), 4U);
  EXPECT_EQ(order.front(), 0);
  EXPECT_EQ(order.back(), 3);
}

TEST_P(parallel_yields, a_spawner_that_never_yields_loses_its_work) {
  std::size_t const n = scaled(1'000);
  std::atomic<std::size_t> runs{0};
  bool const all_ran = pool.spawn([&] {
                             std::vector<rubato::future<void>> spawned;
                             for (std::size_t i = 0; i != n; ++i)
                               spawned.push_back(pool.spawn([&] { ++runs; }));
                             return computing_until([&] { return runs == n; });
                           })
                           .get();
  EXPECT_TRUE(all_ran);
}

TEST_P(parallel_yields, a_coroutine_that_never_yields_loses_work) {
  std::atomic<int> runs{0};
  rubato::promise<void> p;
  auto const shared = p.get_future().share();
  std::vector<rubato::future<void>> followers;
  auto const waits = [&](rubato::shared_future<void> f) -> rubato::task<void> {
    co_await f;
    ++runs;
  };
  for (int i = 0; i != 20; ++i) {
    followers.push_back(shared.then(pool, [&] { ++runs; }));
    followers.push_back(pool.spawn(waits, shared));
  }
  pool.wait_idle();
  auto const f = [&]() -> rubato::task<bool> {
    co_await rubato::yield();
    p.set_value(); // all of them are queued here, one in the slot
    co_return computing_until([&] { return runs == 40; });
  };
  EXPECT_TRUE(pool.spawn(f).get());
}

TEST_P(yield_fairness, an_endless_chain_does_not_starve_outside_work) {
  std::atomic<bool> over{false};
  // Each continuation makes the next one: the slot always has something.
  std::atomic<unsigned> ended{0};
  std::function<void()> const perpetual = [&] {
    if (over)
      ++ended;
    else
      rubato::make_ready_future().then(pool, perpetual).detach();
  };
  for (unsigned i = 0; i != pool.size(); ++i) pool.enqueue(perpetual);
  milestone from_outside;
  pool.enqueue([&] { from_outside.reach(); });
  EXPECT_TRUE(from_outside.wait());
  for (unsigned seat = 0; seat != pool.size(); ++seat) {
    milestone there;
    pool.spawn_on(seat, [&] { there.reach(); }).detach();
    EXPECT_TRUE(there.wait());
  }
  over = true;
  EXPECT_TRUE(eventually([&] { return ended == pool.size(); }));
}

TEST_P(yield_fairness, endless_outside_work_starves_no_coroutine) {
  std::atomic<bool> over{false};
  std::function<void()> const feed = [&] {
    if (over) return;
    pool.enqueue(feed);
    pool.enqueue([] {});
  };
  for (unsigned i = 0; i != pool.size(); ++i) pool.enqueue(feed);
  auto const f = []() -> rubato::task<int> {
    for (int i = 0; i != 50; ++i) co_await rubato::yield();
    co_await rubato::sleep_for(100us);
    co_return 1;
  };
  EXPECT_EQ(pool.spawn(f).get(), 1);
  over = true;
  EXPECT_TRUE(pool.wait_idle());
}

TEST_P(yield_fairness, two_that_wake_each_other_starve_no_third) {
  // Ping-pong through the slot.
  std::atomic<bool> over{false};
  struct ball {
    rubato::channel<int> there{1};
    rubato::channel<int> back{1};
  };
  std::vector<ball> balls(pool.size());
  auto const player = [&](rubato::channel<int>& from, rubato::channel<int>& to) -> rubato::task<void> {
    for (;;) {
      auto const got = co_await from.receive();
      if (!got.has_value()) break;
      if (over) {
        to.close();
        break;
      }
      bool const sent = co_await to.send(*got + 1);
      if (!sent) break;
    }
    to.close();
  };
  std::vector<rubato::future<void>> players;
  for (ball& b : balls) {
    players.push_back(pool.spawn(player, std::ref(b.there), std::ref(b.back)));
    players.push_back(pool.spawn(player, std::ref(b.back), std::ref(b.there)));
    EXPECT_TRUE(b.there.try_send(0));
  }
  for (int i = 0; i != 20; ++i) {
    milestone third;
    pool.enqueue([&] { third.reach(); });
    EXPECT_TRUE(third.wait());
  }
  over = true;
  for (auto& f : players) f.get();
}

/// It comes back to the inbox of its seat, which is looked at first.
TEST_P(yield_fairness, regression_a_yield_on_a_seat_starves_no_task) {
  std::atomic<unsigned> ran{0};
  auto const yields = [&]() -> rubato::task<void> {
    while (ran != 3) co_await rubato::yield();
  };
  auto const sleeps = [&]() -> rubato::task<void> {
    co_await rubato::sleep_for(1ms);
    ++ran;
  };
  auto f = pool.spawn_on(0, yields());
  pool.enqueue([&] { // by an outside thread, and then by a task of the pool
    ++ran;
    pool.enqueue([&] { ++ran; });
  });
  auto g = pool.spawn(sleeps());
  f.get(), g.get();
}

TEST_P(yield_fairness, regression_children_begin_beside_a_yielder) {
  std::atomic<bool> begun{false};
  auto f = pool.spawn([&]() -> rubato::task<void> {
    while (!begun) co_await rubato::yield();
  });
  rubato::task_group group(pool);
  group.spawn([&] { begun = true; });
  f.get();
  group.wait();
}

} // namespace
