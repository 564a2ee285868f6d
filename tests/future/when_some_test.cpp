// when_some: the first n successes of a range of futures or of tasks, in order of arrival.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/tasks.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

class when_some : public on_workers {};
RUBATO_TEST_WITH_WORKERS(when_some, all_counts);

template<class T>
struct promises {
  std::vector<rubato::promise<T>> all;
  explicit promises(std::size_t n)
      : all(n) {}
  std::vector<rubato::future<T>> futures() {
    std::vector<rubato::future<T>> made;
    for (auto& p : all) made.push_back(p.get_future());
    return made;
  }
};

// Futures

TEST(when_some, of_futures_yields_the_first_in_order_of_arrival) {
  promises<int> p(5);
  auto some = rubato::when_some(3, p.futures());
  p.all[4].set_value(40);
  p.all[2].set_exception(failure(2));
  p.all[0].set_value(10);
  EXPECT_FALSE(some.ready());
  EXPECT_FALSE(p.all[1].token().stop_requested());
  p.all[3].set_value(30);
  EXPECT_TRUE(some.ready());
  EXPECT_TRUE(p.all[1].token().stop_requested());
  p.all[1].set_value(20); // too late
  auto const r = some.get();
  ASSERT_EQ(r.size(), 3U);
  EXPECT_EQ(r[0].index, 4U);
  EXPECT_EQ(r[0].value, 40);
  EXPECT_EQ(r[1].index, 0U);
  EXPECT_EQ(r[2].index, 3U);
}

TEST(when_some, of_futures_fails_as_soon_as_too_few_can_succeed) {
  promises<std::string> p(4);
  auto some = rubato::when_some(3, p.futures());
  p.all[1].set_exception(failure(1));
  p.all[0].set_value("a");
  EXPECT_FALSE(some.ready());
  p.all[3].set_exception(failure(3));
  EXPECT_TRUE(some.ready());
  EXPECT_TRUE(p.all[2].token().stop_requested());
  p.all[2].set_exception(failure(2));
  EXPECT_EQ(failure_of([&] { some.get(); }), 3);
}

TEST(when_some, of_futures_that_were_ready_before) {
  std::vector<rubato::future<int>> all;
  for (int i = 0; i != 4; ++i) all.push_back(rubato::make_ready_future(i));
  auto const r = rubato::when_some(2, std::move(all)).get();
  ASSERT_EQ(r.size(), 2U);
  EXPECT_EQ(r[0].index, 0U);
  EXPECT_EQ(r[1].index, 1U);

  std::vector<rubato::future<int>> failed;
  for (int i = 0; i != 3; ++i) failed.push_back(rubato::make_exceptional_future<int>(failure(i)));
  auto none = rubato::when_some(2, std::move(failed));
  EXPECT_EQ(failure_of([&] { none.get(); }), 1);
}

TEST(when_some, of_none_is_ready_and_asks_all_to_stop) {
  promises<int> p(2);
  auto some = rubato::when_some(0, p.futures());
  EXPECT_TRUE(some.ready());
  for (auto& each : p.all) EXPECT_TRUE(each.token().stop_requested());
  EXPECT_TRUE(some.get().empty());
  EXPECT_TRUE(rubato::when_some(0, std::vector<rubato::future<int>>()).get().empty());
}

TEST(when_some, of_more_than_there_are_moves_nothing) {
  promises<int> p(2);
  auto all = p.futures();
  EXPECT_THROW(static_cast<void>(rubato::when_some(3, all)), std::invalid_argument);
  EXPECT_TRUE(all[0].valid() && all[1].valid());
  auto both = rubato::when_some(2, all);
  EXPECT_FALSE(all[0].valid() || all[1].valid());
  p.all[1].set_value(1);
  p.all[0].set_value(0);
  EXPECT_EQ(both.get()[0].index, 1U);
  EXPECT_THROW(static_cast<void>(rubato::when_some(1, std::vector<rubato::task<int>>())),
               std::invalid_argument);
}

TEST(when_some, of_other_ranges_and_other_results) {
  std::list<rubato::future<void>> nothing;
  for (int i = 0; i != 3; ++i) nothing.push_back(rubato::make_ready_future());
  EXPECT_EQ(rubato::when_some(2, std::move(nothing)).get().size(), 2U);

  int x = 7;
  std::vector<rubato::future<int&>> references;
  references.push_back(rubato::make_ready_future<int&>(x));
  EXPECT_EQ(&rubato::when_some(1, std::move(references)).get()[0].value.get(), &x);

  std::vector<rubato::future<std::unique_ptr<int>>> moved;
  moved.push_back(rubato::make_ready_future(std::make_unique<int>(5)));
  EXPECT_EQ(*rubato::when_some(1, std::move(moved)).get()[0].value, 5);

  // Made as they are read, once.
  auto made =
      std::views::iota(0, 4) | std::views::transform([](int i) { return rubato::make_ready_future(i); });
  EXPECT_EQ(rubato::when_some(3, made).get().size(), 3U);
}

TEST(when_some, of_shared_futures_leaves_them_alone) {
  promises<int> p(3);
  std::vector<rubato::shared_future<int>> shared;
  for (auto& f : p.futures()) shared.push_back(std::move(f).share());
  auto some = rubato::when_some(2, shared);
  p.all[2].set_value(2);
  p.all[1].set_value(1);
  EXPECT_EQ(some.get()[0].index, 2U);
  EXPECT_FALSE(p.all[0].token().stop_requested());
  p.all[0].set_value(0);
  EXPECT_EQ(shared[0].get() + shared[1].get() + shared[2].get(), 3);
}

TEST(when_some, of_one_shared_future_many_times) {
  rubato::promise<int> p;
  std::vector<rubato::shared_future<int>> const same(5, p.get_future().share());
  auto some = rubato::when_some(3, same);
  p.set_value(1);
  auto const r = some.get();
  ASSERT_EQ(r.size(), 3U);
  for (auto const& each : r) EXPECT_EQ(each.value, 1);
}

TEST(when_some, that_is_cancelled_leaves_promises) {
  promises<int> p(3);
  auto some = rubato::when_some(2, p.futures());
  p.all[0].set_value(1);
  some.cancel();
  EXPECT_EQ(outcome_of_get(some), outcome::cancelled);
  EXPECT_TRUE(p.all[1].token().stop_requested() && p.all[2].token().stop_requested());
}

TEST_P(when_some, that_is_cancelled_ends_after_its_work) {
  std::atomic<int> ended{0}, begun{0};
  auto wait = [&](std::stop_token const& t) {
    ++begun;
    while (!t.stop_requested()) std::this_thread::yield();
    ++ended;
    throw failure(1);
  };
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 2; ++i) all.push_back(pool.spawn(wait));
  auto some = rubato::when_some(2, std::move(all));
  if (GetParam() != 0) {
    EXPECT_TRUE(eventually([&] { return begun != 0; }));
  }
  some.cancel();
  EXPECT_NE(outcome_of_get(some), outcome::value);
  EXPECT_EQ(begun, ended);
}

/// Throws in its second move from now on, or in no move.
struct thrower {
  static inline int left = -1;
  thrower() = default;
  thrower(thrower&& /*other*/) {
    if (left >= 0 && left-- == 0) throw failure(9);
  }
};

TEST(when_some, throws_what_a_move_of_a_value_throws) {
  promises<thrower> p(2);
  auto some = rubato::when_some(2, p.futures());
  p.all[0].set_value(thrower());
  thrower::left = 1; // not the move into the input's place
  p.all[1].set_value(thrower());
  EXPECT_TRUE(some.ready());
  EXPECT_EQ(failure_of([&] { some.get(); }), 9);
  thrower::left = -1;
}

TEST_P(when_some, of_work_counts_each_once) {
  leak_check const leaks;
  for (std::size_t round = 0; round != scaled(200); ++round) {
    std::size_t const n = 1 + round % 9, wanted = round % (n + 1);
    std::vector<rubato::future<counted>> all;
    for (std::size_t i = 0; i != n; ++i)
      all.push_back(pool.spawn([i, round]() -> counted {
        if ((i + round) % 3 == 0) throw failure(static_cast<int>(i));
        return counted(static_cast<int>(i));
      }));
    std::size_t good = 0;
    for (std::size_t i = 0; i != n; ++i) good += (i + round) % 3 == 0 ? 0U : 1U;
    auto some = rubato::when_some(wanted, std::move(all));
    try {
      auto const r = some.get();
      ASSERT_EQ(r.size(), wanted);
      ASSERT_GE(good, wanted);
      for (std::size_t a = 0; a != r.size(); ++a) {
        ASSERT_EQ(static_cast<std::size_t>(r[a].value.value), r[a].index);
        ASSERT_NE((r[a].index + round) % 3, 0U);
        for (std::size_t b = 0; b != a; ++b) ASSERT_NE(r[a].index, r[b].index);
      }
    } catch (failure const&) {
      ASSERT_LT(good, wanted);
    }
  }
  EXPECT_TRUE(pool.wait_idle());
}

// Tasks

/// Waits for a stop, unless that comes before it begins.
struct waits {
  std::atomic<int> begun{0}, ended{0};
  rubato::task<int> one() {
    ++begun;
    co_return co_await until_stopped(ended);
  }
};

TEST_P(when_some, of_tasks_yields_the_first_and_stops_the_others) {
  waits w;
  auto f = pool.spawn([&]() -> rubato::task<int> {
    std::vector<rubato::task<int>> all;
    all.push_back(w.one());
    all.push_back(number(1));
    all.push_back(fails(2));
    all.push_back(number(3));
    all.push_back(w.one());
    auto const r = co_await rubato::when_some(2, std::move(all));
    EXPECT_EQ(w.begun, w.ended);
    EXPECT_EQ(r.size(), 2U);
    for (auto const& each : r) EXPECT_EQ(static_cast<int>(each.index), each.value);
    co_return r[0].value + r[1].value;
  });
  EXPECT_EQ(f.get(), 4);
}

TEST_P(when_some, of_tasks_throws_when_too_few_can_succeed) {
  waits w;
  auto f = pool.spawn([&]() -> rubato::task<void> {
    std::vector<rubato::task<int>> all;
    all.push_back(w.one());
    all.push_back(fails(1));
    all.push_back(number(2));
    all.push_back(fails(1));
    static_cast<void>(co_await rubato::when_some(3, std::move(all)));
  });
  EXPECT_EQ(failure_of([&] { f.get(); }), 1);
  EXPECT_EQ(w.begun, w.ended);
}

TEST_P(when_some, of_no_tasks_begins_none) {
  std::atomic<int> begun{0};
  auto begin = [&]() -> rubato::task<void> {
    ++begun;
    co_return;
  };
  auto f = pool.spawn([&]() -> rubato::task<std::size_t> {
    std::vector<rubato::task<void>> all;
    all.push_back(begin());
    all.push_back(begin());
    auto const r = co_await rubato::when_some(0, std::move(all));
    co_return r.size();
  });
  EXPECT_EQ(f.get(), 0U);
  EXPECT_EQ(begun, 0);
}

TEST_P(when_some, of_tasks_that_is_stopped_ends_after_them) {
  std::atomic<int> ended{0};
  auto f = pool.spawn([&]() -> rubato::task<void> {
    std::vector<rubato::task<int>> all;
    all.push_back(number(1));
    for (int i = 0; i != 3; ++i) all.push_back(until_stopped(ended));
    static_cast<void>(co_await rubato::when_some(2, std::move(all)));
  });
  EXPECT_EQ(outcome_of([&] { f.wait_for(std::chrono::milliseconds(1)); }), outcome::value);
  f.cancel();
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
}

TEST_P(when_some, of_all_tasks_is_when_all_with_their_order) {
  leak_check const leaks;
  for (std::size_t round = 0; round != scaled(100); ++round) {
    auto f = pool.spawn([&]() -> rubato::task<std::size_t> {
      std::vector<rubato::task<counted>> all;
      auto make = [](int i) -> rubato::task<counted> {
        if (i % 2 == 0) co_await rubato::yield();
        co_return counted(i);
      };
      for (int i = 0; i != 20; ++i) all.push_back(make(i));
      auto const r = co_await rubato::when_some(20, std::move(all));
      std::size_t sum = 0;
      for (auto const& each : r)
        sum += each.index * (static_cast<int>(each.index) == each.value.value ? 1U : 0U);
      co_return sum;
    });
    ASSERT_EQ(f.get(), 190U);
  }
}

TEST_P(when_some, in_a_pool_that_ends) {
  for (bool const drops : {true, false}) {
    std::atomic<int> ended{0};
    rubato::future<void> f;
    {
      rubato::pool ends(with_workers(GetParam()));
      f = ends.spawn([&]() -> rubato::task<void> {
        std::vector<rubato::task<int>> all;
        for (int i = 0; i != 4; ++i) all.push_back(until_stopped(ended));
        static_cast<void>(co_await rubato::when_some(2, std::move(all)));
      });
      if (drops)
        ends.shutdown(rubato::discard);
      else
        ends.shutdown();
    }
    EXPECT_NE(outcome_of_get(f), outcome::value);
  }
}

} // namespace
