// when_any: the first success; the losers are asked to stop.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/second_thread.hpp"
#include "support/tasks.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

class when_any : public on_workers {};
RUBATO_TEST_WITH_WORKERS(when_any, all_counts);

TEST(when_any, tells_the_winner_and_its_value) {
  rubato::promise<int> a;
  rubato::promise<std::string> b;
  rubato::promise<void> c;
  auto f = rubato::when_any(a.get_future(), b.get_future(), c.get_future());
  EXPECT_FALSE(f.ready());
  b.set_value("second");
  EXPECT_TRUE(f.ready());
  a.set_value(1);
  auto const r = f.get();
  static_assert(
      std::same_as<std::remove_const_t<decltype(r.value)>, std::variant<int, std::string, std::monostate>>);
  EXPECT_EQ(r.index, 1U);
  ASSERT_EQ(r.value.index(), 1U);
  EXPECT_EQ(std::get<1>(r.value), "second");
}

TEST(when_any, of_equal_types_tells_them_apart) {
  rubato::promise<int> a;
  rubato::promise<int> b;
  auto f = rubato::when_any(a.get_future(), b.get_future());
  b.set_value(2);
  auto const r = f.get();
  EXPECT_EQ(r.index, 1U);
  EXPECT_EQ(std::get<1>(r.value), 2);
}

TEST(when_any, of_a_range_brings_the_value) {
  std::vector<rubato::promise<std::unique_ptr<int>>> promises(10);
  std::vector<rubato::future<std::unique_ptr<int>>> all;
  for (auto& p : promises) all.push_back(p.get_future());
  auto f = rubato::when_any(std::move(all));
  promises[7].set_value(std::make_unique<int>(70));
  promises[3].set_value(std::make_unique<int>(30));
  auto const r = f.get();
  EXPECT_EQ(r.index, 7U);
  EXPECT_EQ(*r.value, 70);
}

TEST_P(when_any, of_work_brings_one_of_the_values) {
  std::vector<rubato::future<std::size_t>> all;
  for (std::size_t i = 0; i != 50; ++i) all.push_back(pool.spawn([i] { return i; }));
  auto const r = rubato::when_any(std::move(all)).get();
  EXPECT_EQ(r.index, r.value);
  EXPECT_LT(r.index, 50U);
}

TEST(when_any, of_nothing_is_an_error) {
  EXPECT_THROW(static_cast<void>(rubato::when_any(std::vector<rubato::future<int>>())),
               std::invalid_argument);
  EXPECT_THROW(static_cast<void>(rubato::when_any(std::vector<rubato::task<int>>())), std::invalid_argument);
  EXPECT_EQ(outcome_of([] { auto f = rubato::when_any(rubato::future<int>()); }), outcome::no_state);
}

TEST(when_any, passes_over_failures) {
  rubato::promise<int> a;
  rubato::promise<int> b;
  rubato::promise<int> c;
  auto f = rubato::when_any(a.get_future(), b.get_future(), c.get_future(),
                            rubato::make_exceptional_future<int>(failure(4)));
  a.set_exception(failure(1));
  c.set_exception(failure(3));
  EXPECT_FALSE(f.ready());
  b.set_value(2);
  EXPECT_EQ(f.get().index, 1U);
}

TEST(when_any, brings_the_last_failure_if_all_fail) {
  std::vector<rubato::promise<int>> promises(5);
  std::vector<rubato::future<int>> all;
  for (auto& p : promises) all.push_back(p.get_future());
  auto f = rubato::when_any(std::move(all));
  for (std::size_t const i : {4U, 0U, 3U, 1U, 2U}) {
    EXPECT_FALSE(f.ready());
    promises[i].set_exception(failure(static_cast<int>(i)));
  }
  EXPECT_EQ(failure_of([&] { f.get(); }), 2);
  EXPECT_EQ(failure_of([] {
              rubato::when_any(rubato::make_exceptional_future<int>(failure(1)),
                               rubato::make_exceptional_future<void>(failure(2)))
                  .get();
            }),
            2);
}

TEST(when_any, of_one_that_is_ready) {
  leak_check const none_left;
  rubato::promise<counted> other;
  auto f = rubato::when_any(other.get_future(), rubato::make_ready_future(counted(1)));
  EXPECT_TRUE(f.ready());
  EXPECT_EQ(f.get().index, 1U);
  other.set_value(counted(2));
}

TEST_P(when_any, asks_the_losers_to_stop) {
  if (pool.size() == 0) return; // no thread would run them meanwhile
  auto const until_stopped = [](std::stop_token t) {
    EXPECT_TRUE(rubato_test::eventually([&] { return t.stop_requested(); }));
    return 1;
  };
  rubato::promise<int> p;
  auto f = rubato::when_any(pool.spawn(until_stopped), p.get_future(), pool.spawn(until_stopped));
  p.set_value(2);
  EXPECT_EQ(f.get().index, 1U);
  EXPECT_TRUE(pool.wait_idle()); // they have seen it
}

TEST(when_any, does_not_begin_losers) {
  hang_guard const guard;
  rubato::pool idle(rubato::no_workers);
  std::atomic<int> runs{0};
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 100; ++i) all.push_back(idle.spawn([&runs] { ++runs; }));
  all.push_back(rubato::make_ready_future());
  EXPECT_EQ(rubato::when_any(std::move(all)).get().index, 100U);
  idle.wait_idle();
  EXPECT_EQ(runs, 0);
}

TEST(when_any, cancelled_or_dropped_asks_all_to_stop) {
  hang_guard const guard;
  rubato::pool idle(rubato::no_workers);
  std::atomic<int> runs{0};
  auto const work = [&runs] { return ++runs; };
  auto f = rubato::when_any(idle.spawn(work), idle.spawn(work));
  f.cancel();
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  {
    auto const g = rubato::when_any(idle.spawn(work), idle.spawn(work));
  }
  idle.wait_idle();
  EXPECT_EQ(runs, 0);
}

TEST(when_any, leaves_what_is_shared_alone) {
  rubato::promise<std::string> p;
  auto const shared = p.get_future().share();
  auto f = rubato::when_any(shared, rubato::make_ready_future(1));
  EXPECT_EQ(f.get().index, 1U);
  auto g = rubato::when_any(shared, shared);
  p.set_value("still");
  EXPECT_EQ(shared.get(), "still");
  auto const r = g.get();
  EXPECT_EQ(r.index, 0U);
  EXPECT_EQ(std::get<0>(r.value), "still");
  EXPECT_EQ(shared.get(), "still");
}

TEST(when_any, as_wide_as_one_likes) {
  leak_check const none_left;
  std::size_t const n = scaled(200'000);
  std::vector<rubato::promise<counted>> promises(n);
  std::vector<rubato::future<counted>> all;
  all.reserve(n);
  for (auto& p : promises) all.push_back(p.get_future());
  auto f = rubato::when_any(std::move(all));
  promises[n / 2].set_value(counted(5));
  auto const r = f.get();
  EXPECT_EQ(r.index, n / 2);
  EXPECT_EQ(r.value.value, 5);
  for (std::size_t i = 0; i != n; ++i)
    if (i != n / 2) promises[i].set_value(counted(1));
}

TEST(when_any, of_many_copies_of_one) {
  std::size_t const n = scaled(20'000);
  rubato::promise<int> p;
  std::vector<rubato::shared_future<int>> all(n, p.get_future().share());
  all.push_back(rubato::make_ready_future(1).share());
  EXPECT_EQ(rubato::when_any(std::move(all)).get().index, n);
  p.set_value(2);
}

TEST(when_any, has_one_winner_of_two_at_once) {
  hang_guard const guard;
  rubato_test::second_thread setter;
  std::size_t const rounds = scaled(5'000);
  for (std::size_t i = 0; i != rounds; ++i) {
    rubato::promise<std::size_t> a;
    rubato::promise<std::size_t> b;
    auto fa = a.get_future();
    auto fb = b.get_future();
    setter.begin([&, i] {
      rubato_test::delay(static_cast<unsigned>(i * 7 % 150));
      a.set_value(0);
    });
    std::optional<rubato::future<rubato::when_any_result<std::variant<std::size_t, std::size_t>>>> any;
    if (i % 2 == 0) any.emplace(rubato::when_any(std::move(fa), std::move(fb)));
    rubato_test::delay(static_cast<unsigned>(i * 13 % 150));
    b.set_value(1);
    if (i % 2 != 0) any.emplace(rubato::when_any(std::move(fa), std::move(fb)));
    auto const r = any->get();
    ASSERT_EQ(r.index, r.value.index());
    ASSERT_EQ(r.index, std::visit([](std::size_t v) { return v; }, r.value));
    setter.wait();
  }
}

// Awaitables that are not futures

TEST_P(when_any, of_tasks_ends_when_the_losers_have_ended) {
  std::atomic<int> ended{0};
  auto f = pool.spawn([&]() -> rubato::task<std::size_t> {
    auto any = rubato::when_any(until_stopped(ended), number(1), until_stopped(ended));
    auto const r = co_await std::move(any);
    EXPECT_EQ(std::get<1>(r.value), 1);
    co_return r.index;
  });
  EXPECT_EQ(f.get(), 1U);
  int const now = ended;
  pool.wait_idle();
  EXPECT_EQ(ended, now);
}

TEST_P(when_any, of_tasks_in_a_range) {
  auto f = pool.spawn([]() -> rubato::task<int> {
    std::vector<rubato::task<int>> tasks;
    for (int i = 0; i != 20; ++i) tasks.push_back(number(i));
    auto const r = co_await rubato::when_any(std::move(tasks));
    co_return r.value == static_cast<int>(r.index) ? r.value : -1;
  });
  EXPECT_GE(f.get(), 0);
}

TEST_P(when_any, of_tasks_that_all_fail) {
  auto f = pool.spawn([]() -> rubato::task<void> {
    auto any = rubato::when_any(fails(1), fails(1));
    co_await std::move(any);
  });
  EXPECT_EQ(failure_of([&] { f.get(); }), 1);
}

TEST_P(when_any, of_a_task_and_a_future) {
  auto f = pool.spawn([]() -> rubato::task<std::size_t> {
    rubato::promise<void> never_kept;
    auto any = rubato::when_any(number(1), never_kept.get_future());
    auto const r = co_await std::move(any);
    co_return r.index;
  });
  EXPECT_EQ(f.get(), 0U);
}

} // namespace
