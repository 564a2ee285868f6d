// invoke: join for any number of callables.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/values.hpp"

#include <rubato/join.hpp>
#include <rubato/thread_pool.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>

using namespace rubato_test;

namespace {

class invoke_many : public on_workers {};
RUBATO_TEST_WITH_WORKERS(invoke_many, all_counts);

class parallel_invokes : public on_workers {};
RUBATO_TEST_WITH_WORKERS(parallel_invokes, counts_in_parallel);

TEST_P(invoke_many, gives_a_tuple_in_the_order_of_the_callables) {
  std::string text = "c";
  auto result = pool.run([&] {
    return rubato::invoke([] { return 1; }, [] {}, [&]() -> std::string& { return text; },
                          [] { return std::make_unique<int>(4); }, [] { return only_constructible(5); });
  });
  static_assert(std::is_same_v<decltype(result), std::tuple<int, std::monostate, std::string&,
                                                            std::unique_ptr<int>, only_constructible>>);
  EXPECT_EQ(std::get<0>(result), 1);
  EXPECT_EQ(&std::get<2>(result), &text);
  EXPECT_EQ(*std::get<3>(result), 4);
  EXPECT_EQ(std::get<4>(result).value, 5);
}

TEST_P(invoke_many, takes_a_single_callable) {
  auto result = pool.run([] { return rubato::invoke([] { return 9; }); });
  static_assert(std::is_same_v<decltype(result), std::tuple<int>>);
  EXPECT_EQ(std::get<0>(result), 9);
}

TEST_P(invoke_many, runs_each_once) {
  for (int round = 0; round != 200; ++round) {
    std::array<std::atomic<int>, 6> counts{};
    auto const count = [&](std::size_t i) { return [&counts, i] { ++counts[i]; }; };
    pool.run([&] { rubato::invoke(count(0), count(1), count(2), count(3), count(4), count(5)); });
    for (auto const& n : counts) ASSERT_EQ(n.load(), 1);
  }
}

TEST_P(invoke_many, works_on_a_named_pool) {
  auto const here = [] { return rubato::current_pool(); };
  auto [a, b, c] = rubato::invoke(pool, here, here, here);
  EXPECT_EQ(a, &pool);
  EXPECT_EQ(b, &pool);
  EXPECT_EQ(c, &pool);
}

TEST_P(invoke_many, throws_once_and_leaves_nothing_running) {
  leak_check const leaks;
  for (int thrower = 0; thrower != 4; ++thrower) {
    for (int round = 0; round != 30; ++round) {
      std::atomic<int> begun{0};
      std::atomic<int> ended{0};
      auto const work = [&](int i) {
        return [&, i] {
          ++begun;
          if (i == thrower) {
            ++ended;
            throw counted_error(i);
          }
          ++ended;
        };
      };
      auto const value = thrown_by(pool, [&] { rubato::invoke(work(0), work(1), work(2), work(3)); });
      auto const begun_at_throw = begun.load();
      ASSERT_EQ(value, thrower);
      ASSERT_EQ(begun_at_throw, ended.load());
      ASSERT_LE(begun_at_throw, 4);
    }
  }
}

TEST_P(invoke_many, throws_the_exception_of_the_earliest_callable) {
  // As for f and g of a join: an earlier one wins over later ones, in whatever order they failed.
  leak_check const leaks;
  for (int round = 0; round != 100; ++round) {
    auto const value = thrown_by(pool, [] {
      rubato::invoke([] { return 1; }, [] { throw counted_error(2); }, [] { throw counted_error(3); });
    });
    ASSERT_EQ(value, 2);
  }
}

TEST_P(parallel_invokes, runs_as_many_at_once_as_there_are_workers) {
  auto const parties = std::min(pool.size(), 4U);
  rendezvous all(parties);
  auto const meet = [&] { return all.meet(); };
  auto const met = pool.run([&] { return rubato::invoke(meet, meet, meet, meet); });
  EXPECT_EQ(met, std::tuple(true, true, true, true));
}

TEST(invoke_from_outside, uses_the_global_pool) {
  hang_guard const guard;
  auto const here = [] { return rubato::current_pool(); };
  auto* const global = &rubato::pool::global();
  EXPECT_EQ(rubato::invoke(here, here, here), std::tuple(global, global, global));
}

} // namespace
