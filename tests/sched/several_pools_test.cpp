// A thread that waits for a result of a pool without workers drives that pool.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "support/hang_guard.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

rubato::task<int> one_more_than(rubato::future<int> f) { co_return 1 + co_await std::move(f); }

/// Where the thread that waits is.
enum class waiter : unsigned char { outside, in_another_pool, in_the_first, in_a_task_of_the_first };

class driven_pools : public testing::TestWithParam<waiter> {
protected:
  rubato_test::hang_guard const guard;
  rubato::pool first{rubato::no_workers}, second{rubato::no_workers}, third{rubato::no_workers};
  rubato::pool working{2};

  /// Waits as the parameter says.
  template<class F>
  auto get(F f) {
    auto const value = [&] { return f.get(); };
    switch (GetParam()) {
    case waiter::outside:
      return value();
    case waiter::in_another_pool:
      return working.run(value);
    case waiter::in_the_first:
      return first.run(value);
    case waiter::in_a_task_of_the_first:
      return first.spawn(value).get();
    }
    return value();
  }
};

TEST_P(driven_pools, are_driven_by_a_waiter_for_their_work) {
  EXPECT_EQ(get(first.spawn([] { return 1; })), 1);
  EXPECT_EQ(get(second.spawn([] { return 1; })), 1);
  EXPECT_EQ(get(second.spawn(one_more_than(working.spawn([] { return 1; })))), 2);
  EXPECT_EQ(get(second.spawn([this] { return third.spawn([] { return 1; }).get(); })), 1);
}

TEST_P(driven_pools, are_driven_while_their_coroutine_waits) {
  rubato::promise<int> last;
  auto f = second.spawn(one_more_than(last.get_future()));
  std::jthread const sets([&] {
    std::this_thread::sleep_for(5ms); // so that the waiter mostly sleeps
    last.set_value(1);
  });
  EXPECT_EQ(get(std::move(f)), 2);
}

TEST_P(driven_pools, are_driven_for_the_inputs_of_a_gathering) {
  auto const one = [](rubato::pool& where) { return where.spawn([] { return 1; }); };
  auto const sum = [](std::tuple<int, int, int> const& t) {
    return std::get<0>(t) + std::get<1>(t) + std::get<2>(t);
  };
  auto const three = [&] { return rubato::when_all(one(second), one(working), one(second)); };
  EXPECT_EQ(sum(get(three())), 3);
  EXPECT_EQ(sum(std::get<1>(get(rubato::when_all(three(), three())))), 3);
  EXPECT_EQ(get(three().then(sum)), 3);
  EXPECT_EQ(get(three().then(second, sum).then([](int n) { return n + 1; })), 4);
  EXPECT_EQ(get(three().then(working, sum)), 3);
  EXPECT_EQ(sum(get(rubato::when_all(one(working), one(second), one(working)))), 3);
}

TEST_P(driven_pools, are_driven_for_an_input_behind_a_promise) {
  rubato::promise<int> never, later;
  auto any = rubato::when_any(never.get_future(), second.spawn([] { return 1; }));
  EXPECT_EQ(get(std::move(any)).index, 1u);
  auto all = rubato::when_all(later.get_future(), second.spawn([&] { return later.set_value(1), 1; }));
  EXPECT_EQ(std::get<0>(get(std::move(all))), 1);
}

TEST_P(driven_pools, are_driven_for_a_race_another_input_decides) {
  rubato::promise<int> never, wins;
  auto any = rubato::when_any(second.spawn(one_more_than(never.get_future())), wins.get_future());
  std::jthread const sets([&] {
    std::this_thread::sleep_for(5ms); // so that the waiter mostly sleeps
    wins.set_value(1);
  });
  EXPECT_EQ(get(std::move(any)).index, 1u);
}

TEST_P(driven_pools, are_those_too_that_lose_their_workers) {
  gate go; // outlives the pool, whose worker waits for it
  rubato::pool losing(1);
  losing.enqueue([&] { go.wait(); });
  auto f = losing.spawn([] { return 1; });
  std::jthread const resizes([&] {
    std::this_thread::sleep_for(5ms); // so that the waiter mostly sleeps
    losing.resize(0);
    go.open();
  });
  EXPECT_EQ(get(std::move(f)), 1);
}

/// Many threads wait, for work of several pools.
TEST_P(driven_pools, are_driven_by_several) {
  for (std::size_t round = 0, rounds = scaled(300); round != rounds; ++round) {
    std::vector<std::jthread> threads;
    std::atomic<int> sum = 0;
    for (int i = 0; i != 4; ++i) {
      auto& here = i % 2 == 0 ? first : second;
      auto const one = [&here] { return here.spawn([] { return 1; }); };
      threads.emplace_back(
          [&, f = rubato::when_all(one(), one())]() mutable { sum += std::get<0>(get(std::move(f))); });
    }
    threads.clear();
    ASSERT_EQ(sum, 4);
  }
}

/// Promises set by threads outside release links of chains at any time.
TEST_P(driven_pools, lose_nothing) {
  for (std::size_t round = 0, rounds = scaled(300); round != rounds; ++round) {
    std::vector<rubato::promise<int>> gates(4);
    rubato::future<int> chain = rubato::make_ready_future(0);
    for (auto& gate : gates) {
      auto& where = round % 2 == 0 ? second : third;
      auto both = rubato::when_all(std::move(chain), gate.get_future());
      chain = both.then(where, [](std::tuple<int, int> t) { return std::get<0>(t) + std::get<1>(t); });
    }
    std::jthread const sets([&] {
      for (std::size_t i = 0; i != gates.size(); ++i) gates[(i + round) % gates.size()].set_value(1);
    });
    ASSERT_EQ(get(std::move(chain)), 4);
  }
}

INSTANTIATE_TEST_SUITE_P(waiters, driven_pools,
                         testing::Values(waiter::outside, waiter::in_another_pool, waiter::in_the_first,
                                         waiter::in_a_task_of_the_first));

} // namespace
