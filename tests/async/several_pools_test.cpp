// Who waits for a result drives every pool without workers that it is made in, whichever has something to do.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "pool/scale.hpp"
#include "pool/waiting.hpp"
#include "support/hang_guard.hpp"

namespace {

using namespace pool_test;

rubato::task<int> one_more_than(rubato::future<int> f) { co_return 1 + co_await std::move(f); }

/// Where the thread that waits is.
enum class waiter : unsigned char { outside, in_another_pool, in_the_first, in_a_task_of_the_first };

class pools_without_workers : public testing::TestWithParam<waiter> {
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

TEST_P(pools_without_workers, are_driven_for_a_coroutine_that_awaits_their_future) {
  EXPECT_EQ(get(first.spawn(one_more_than(second.spawn([] { return 1; })))), 2);
  EXPECT_EQ(get(second.spawn(one_more_than(first.spawn([] { return 1; })))), 2);
  EXPECT_EQ(get(working.spawn(one_more_than(second.spawn([] { return 1; })))), 2);
  EXPECT_EQ(get(first.spawn(one_more_than(working.spawn([] { return 1; })))), 2);
  EXPECT_EQ(get(first.spawn(one_more_than(second.spawn(one_more_than(third.spawn([] { return 1; })))))), 3);
}

TEST_P(pools_without_workers, are_driven_wherever_they_stand_in_a_chain) {
  rubato::promise<int> last;
  auto f = working.spawn(
      one_more_than(first.spawn(one_more_than(second.spawn(one_more_than(last.get_future()))))));
  std::jthread const sets([&] {
    std::this_thread::sleep_for(5ms); // whoever waits sleeps
    first.enqueue([&] { last.set_value(1); });
  });
  EXPECT_EQ(get(std::move(f)), 4);
}

TEST_P(pools_without_workers, are_driven_for_whatever_stands_in_a_gathering) {
  auto const two = [&] {
    auto go = std::make_shared<rubato::promise<int>>();
    auto waits = working.spawn(one_more_than(go->get_future()));
    auto sets = second.spawn([go] { return go->set_value(1), 1; });
    return rubato::when_all(std::move(waits), std::move(sets));
  };
  auto const sum = [](std::tuple<int, int> const& t) { return std::get<0>(t) + std::get<1>(t); };
  EXPECT_EQ(sum(std::get<0>(get(rubato::when_all(two(), two())))), 3);
  EXPECT_EQ(get(two().then(sum)), 3);
  auto const awaits = [&](rubato::future<std::tuple<int, int>> f) -> rubato::task<int> {
    auto const t = co_await std::move(f);
    co_return sum(t);
  };
  EXPECT_EQ(get(working.spawn(awaits(two()))), 3);
  rubato::promise<int> never;
  auto any = rubato::when_any(never.get_future(), second.spawn([] { return 1; }));
  EXPECT_EQ(get(std::move(any)).index, 1u);
}

TEST_P(pools_without_workers, are_driven_for_a_coroutine_that_moves_there) {
  auto const moves = [](rubato::pool& where) -> rubato::task<int> {
    co_await rubato::sleep_for(5ms); // whoever waits sleeps
    co_await rubato::resume_on(where);
    co_return 1;
  };
  EXPECT_EQ(get(working.spawn(moves(second))), 1);
  EXPECT_EQ(get(first.spawn(moves(second))), 1);
}

TEST_P(pools_without_workers, are_driven_by_a_member_of_one_of_them) {
  rubato::promise<int> last;
  auto f = working.spawn(
      one_more_than(first.spawn(one_more_than(second.spawn(one_more_than(last.get_future()))))));
  first.enqueue([&] { last.set_value(1); });
  EXPECT_EQ(second.run([&] { return f.get(); }), 4);
}

TEST_P(pools_without_workers, are_driven_for_what_a_task_returns_late) {
  auto late = working.spawn([this] {
    std::this_thread::sleep_for(5ms); // whoever waits sleeps
    return second.spawn(one_more_than(third.spawn([] { return 1; })));
  });
  EXPECT_EQ(get(std::move(late)), 2);
}

TEST_P(pools_without_workers, are_driven_by_who_sleeps_in_another_one) {
  rubato::promise<int> to_first, to_second, to_third;
  auto all = rubato::when_all(first.spawn(one_more_than(to_first.get_future())),
                              second.spawn(one_more_than(to_second.get_future())),
                              third.spawn(one_more_than(to_third.get_future())));
  std::jthread const sets([&] {
    for (auto* const p : {&to_third, &to_first, &to_second}) {
      std::this_thread::sleep_for(5ms); // whoever waits sleeps
      p->set_value(1);
    }
  });
  EXPECT_EQ(std::get<2>(get(std::move(all))), 2);
}

TEST_P(pools_without_workers, are_those_too_that_lose_their_workers) {
  rubato::pool losing(1);
  gate go;
  losing.enqueue([&] { go.wait(); });
  auto f = working.spawn(one_more_than(losing.spawn([] { return 1; })));
  std::jthread const resizes([&] {
    std::this_thread::sleep_for(5ms); // whoever waits sleeps
    losing.resize(0);
    go.open();
  });
  EXPECT_EQ(get(std::move(f)), 2);
}

TEST_P(pools_without_workers, do_not_keep_each_other_from_being_driven) {
  std::atomic<bool> end = false;
  std::atomic<int> rounds = 0;
  auto const for_ever = [&](rubato::pool& where) {
    return where.spawn([](std::atomic<bool>& over, std::atomic<int>& n) -> rubato::task<> {
      for (; !over; ++n) co_await rubato::yield();
    }(end, rounds));
  };
  auto const one = for_ever(first), two = for_ever(second);
  rubato::future<int> f = third.spawn([] { return 1; });
  for (int i = 0; i != 10; ++i) f = (i % 2 == 0 ? first : second).spawn(one_more_than(std::move(f)));
  EXPECT_EQ(get(std::move(f)), 11);
  end = true;
}

/// Chains through all pools, whose links are released from outside at any time.
TEST_P(pools_without_workers, lose_nothing) {
  rubato::pool* const pools[] = {&first, &second, &third, &working};
  for (std::size_t round = 0, rounds = scaled(300); round != rounds; ++round) {
    std::vector<rubato::promise<int>> gates(4);
    rubato::future<int> chain = rubato::make_ready_future(0);
    for (std::size_t i = 0; i != 12; ++i) {
      auto& where = *pools[(i * 7 + round) % 4];
      chain = where.spawn([](rubato::future<int> before, rubato::future<int> gate) -> rubato::task<int> {
        int const a = co_await std::move(gate);
        co_await rubato::yield();
        co_return a + co_await std::move(before);
      }(std::move(chain), i % 3 == 0 ? gates[i / 3].get_future() : rubato::make_ready_future(1)));
    }
    std::jthread const sets([&] {
      for (std::size_t i = 0; i != gates.size(); ++i) gates[(i + round) % gates.size()].set_value(1);
    });
    ASSERT_EQ(get(std::move(chain)), 12);
  }
}

/// Several threads wait, each for something else that leads through the same pools.
TEST_P(pools_without_workers, are_driven_by_several) {
  for (std::size_t round = 0, rounds = scaled(100); round != rounds; ++round) {
    std::vector<std::jthread> threads;
    std::atomic<int> sum = 0;
    for (int i = 0; i != 4; ++i) {
      auto& here = i % 2 == 0 ? first : second;
      auto& there = i % 2 == 0 ? second : first;
      threads.emplace_back([&, f = here.spawn(one_more_than(there.spawn([] { return 1; })))]() mutable {
        sum += get(std::move(f));
      });
    }
    threads.clear();
    ASSERT_EQ(sum, 8);
  }
}

INSTANTIATE_TEST_SUITE_P(waiters, pools_without_workers,
                         testing::Values(waiter::outside, waiter::in_another_pool, waiter::in_the_first,
                                         waiter::in_a_task_of_the_first));

} // namespace
