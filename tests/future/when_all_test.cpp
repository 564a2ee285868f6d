// when_all: all values in order, or the first failure in time, when all have ended.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
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

class when_all : public on_workers {};
RUBATO_TEST_WITH_WORKERS(when_all, all_counts);

TEST_P(when_all, of_several_types_is_a_tuple) {
  int object = 3;
  auto f = rubato::when_all(pool.spawn([] { return 1; }), pool.spawn([] { return std::string("two"); }),
                            pool.spawn([&object]() -> int& { return object; }), pool.spawn([] {}),
                            pool.spawn([] { return std::make_unique<int>(5); }));
  using expected = std::tuple<int, std::string, int&, std::monostate, std::unique_ptr<int>>;
  static_assert(std::same_as<decltype(f), rubato::future<expected>>);
  auto const [one, two, three, four, five] = f.get();
  EXPECT_EQ(one, 1);
  EXPECT_EQ(two, "two");
  EXPECT_EQ(&three, &object);
  EXPECT_EQ(four, std::monostate());
  EXPECT_EQ(*five, 5);
}

TEST_P(when_all, of_a_range_is_a_vector_in_its_order) {
  std::size_t const n = scaled(2'000);
  std::vector<rubato::future<std::size_t>> all;
  for (std::size_t i = 0; i != n; ++i) all.push_back(pool.spawn([i] { return i; }));
  std::vector<std::size_t> const values = rubato::when_all(std::move(all)).get();
  ASSERT_EQ(values.size(), n);
  for (std::size_t i = 0; i != n; ++i) ASSERT_EQ(values[i], i);

  std::vector<rubato::future<void>> nothings;
  for (int i = 0; i != 3; ++i) nothings.push_back(pool.spawn([] {}));
  EXPECT_EQ(rubato::when_all(std::move(nothings)).get().size(), 3U);
  std::vector<rubato::future<bool>> bits;
  for (int i = 0; i != 3; ++i) bits.push_back(pool.spawn([i] { return i % 2 == 0; }));
  EXPECT_EQ(rubato::when_all(std::move(bits)).get(), (std::vector<bool>{true, false, true}));
  int object = 0;
  std::vector<rubato::future<int&>> references;
  references.push_back(pool.spawn([&object]() -> int& { return object; }));
  EXPECT_EQ(&rubato::when_all(std::move(references)).get().front().get(), &object);
}

TEST(when_all, of_nothing_is_ready) {
  EXPECT_TRUE(rubato::when_all().ready());
  auto empty = rubato::when_all(std::vector<rubato::future<int>>());
  EXPECT_TRUE(empty.ready());
  EXPECT_TRUE(empty.get().empty());
}

TEST_P(when_all, copies_what_is_shared) {
  auto const shared = pool.spawn([] { return std::string("again"); }).share();
  auto const [a, b] = rubato::when_all(shared, shared).get();
  EXPECT_EQ(a, "again");
  EXPECT_EQ(b, "again");
  EXPECT_EQ(shared.get(), "again");
  auto const [c, d] = rubato::when_all(shared, pool.spawn([] { return 1; })).get();
  EXPECT_EQ(c, "again");
  EXPECT_EQ(d, 1);
  EXPECT_EQ(rubato::when_all(std::vector{shared, shared, shared}).get(),
            std::vector<std::string>(3, "again"));
  EXPECT_EQ(shared.get(), "again");
}

TEST_P(when_all, takes_no_invalid_future) {
  auto good = pool.spawn([] { return 1; });
  EXPECT_EQ(outcome_of([&] { auto f = rubato::when_all(std::move(good), rubato::future<int>()); }),
            outcome::no_state);
  EXPECT_EQ(outcome_of([] { auto f = rubato::when_all(rubato::shared_future<int>()); }), outcome::no_state);
  std::vector<rubato::future<int>> all(3);
  EXPECT_EQ(outcome_of([&] { auto f = rubato::when_all(std::move(all)); }), outcome::no_state);
}

TEST(when_all, brings_the_first_failure_in_time) {
  rubato::promise<int> a;
  rubato::promise<int> b;
  rubato::promise<int> c;
  auto f = rubato::when_all(a.get_future(), b.get_future(), c.get_future());
  b.set_value(2);
  EXPECT_FALSE(f.ready());
  c.set_exception(failure(3));
  a.set_exception(failure(1));
  EXPECT_TRUE(f.ready());
  EXPECT_EQ(failure_of([&] { f.get(); }), 3);
}

TEST(when_all, of_what_has_failed_already) {
  leak_check const none_left;
  rubato::promise<counted> late;
  auto f = rubato::when_all(rubato::make_exceptional_future<counted>(failure(1)), late.get_future(),
                            rubato::make_exceptional_future<counted>(failure(2)));
  EXPECT_TRUE(f.ready());
  late.set_value(counted(1));
  EXPECT_EQ(failure_of([&] { f.get(); }), 1);
  std::vector<rubato::future<int>> all;
  for (int i = 0; i != 10; ++i) all.push_back(rubato::make_exceptional_future<int>(failure(i)));
  EXPECT_EQ(failure_of([&] { rubato::when_all(std::move(all)).get(); }), 0);
}

TEST_P(when_all, asks_all_to_stop) {
  if (pool.size() == 0) return; // no thread would run them meanwhile
  auto const until_stopped = [](std::stop_token t) {
    EXPECT_TRUE(rubato_test::eventually([&] { return t.stop_requested(); }));
  };
  auto f = rubato::when_all(pool.spawn(until_stopped), pool.spawn(until_stopped), pool.spawn(until_stopped));
  f.cancel();
  auto const how = outcome_of_get(f); // those that had not begun have failed
  EXPECT_TRUE(how == outcome::value || how == outcome::cancelled) << how;
  auto g = rubato::when_all(pool.spawn(until_stopped), pool.spawn(until_stopped));
  g = {}; // the same
  EXPECT_TRUE(pool.wait_idle());
}

TEST(when_all, of_unstarted_work_can_be_cancelled) {
  hang_guard const guard;
  rubato::pool idle(rubato::no_workers);
  std::atomic<int> runs{0};
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 100; ++i) all.push_back(idle.spawn([&runs] { ++runs; }));
  auto f = rubato::when_all(std::move(all));
  f.cancel();
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  EXPECT_EQ(runs, 0);
}

TEST(when_all, does_not_stop_what_is_shared) {
  rubato::promise<int> p;
  auto const shared = p.get_future().share();
  {
    auto const f = rubato::when_all(shared, shared);
  }
  p.set_value(1);
  EXPECT_EQ(shared.get(), 1);
}

TEST_P(when_all, as_wide_as_one_likes) {
  std::size_t const n = scaled(300'000);
  std::vector<rubato::future<std::size_t>> all;
  all.reserve(n);
  for (std::size_t i = 0; i != n; ++i) all.push_back(pool.spawn([i] { return i; }));
  auto sum = rubato::when_all(std::move(all)).then([](std::vector<std::size_t> const& values) {
    std::size_t s = 0;
    for (std::size_t const v : values) s += v;
    return s;
  });
  EXPECT_EQ(sum.get(), n * (n - 1) / 2);
}

TEST(when_all, of_as_many_promises_as_one_likes_dropped_or_kept) {
  std::size_t const n = scaled(200'000);
  for (bool const dropped : {false, true}) {
    std::vector<rubato::promise<int>> promises(n);
    std::vector<rubato::future<int>> all;
    all.reserve(n);
    for (auto& p : promises) all.push_back(p.get_future());
    auto f = rubato::when_all(std::move(all));
    if (dropped) f = {};
    for (std::size_t i = n; i-- != 0;) promises[i].set_value(1);
    if (!dropped) {
      EXPECT_EQ(f.get().size(), n);
    }
  }
}

TEST_P(when_all, in_a_fold_as_long_as_one_likes) {
  std::size_t const n = scaled(200'000);
  auto const fold = [&](rubato::future<std::size_t> f) {
    for (std::size_t i = 0; i != n; ++i)
      f = rubato::when_all(std::move(f), rubato::make_ready_future(std::size_t{1}))
              .then([](std::tuple<std::size_t, std::size_t> t) { return std::get<0>(t) + std::get<1>(t); });
    return f;
  };
  rubato::promise<std::size_t> kept;
  auto f = fold(kept.get_future().then(pool, [](std::size_t s) { return s; }));
  kept.set_value(0);
  EXPECT_EQ(f.get(), n);
  rubato::promise<std::size_t> late;
  auto g = fold(late.get_future().then(pool, [](std::size_t s) { return s; }));
  g.cancel();
  late.set_value(0);
  EXPECT_EQ(outcome_of_get(g), outcome::cancelled);
}

TEST_P(when_all, racing_its_inputs) {
  rubato_test::second_thread setter;
  std::size_t const rounds = scaled(3'000);
  for (std::size_t i = 0; i != rounds; ++i) {
    rubato::promise<std::size_t> a;
    rubato::promise<std::size_t> b;
    auto fa = a.get_future();
    auto fb = b.get_future();
    setter.begin_beside(i, [&, i] {
      a.set_value(i);
      b.set_value(i);
    });
    auto all = rubato::when_all(std::move(fa), std::move(fb), pool.spawn([i] { return i; }));
    auto const [x, y, z] = all.get();
    ASSERT_EQ(x + y + z, 3 * i);
    setter.wait();
  }
}

// Awaitables that are not futures

TEST_P(when_all, of_tasks_is_a_task) {
  auto f = pool.spawn([this]() -> rubato::task<int> {
    auto all = rubato::when_all(number(1), number(20), pool.spawn([] { return 300; }));
    auto const [a, b, c] = co_await std::move(all);
    co_return a + b + c;
  });
  EXPECT_EQ(f.get(), 321);
  auto g = pool.spawn([]() -> rubato::task<int> {
    std::vector<rubato::task<int>> tasks;
    for (int i = 0; i != 100; ++i) tasks.push_back(number(i));
    auto const values = co_await rubato::when_all(std::move(tasks));
    int sum = 0;
    for (std::size_t i = 0; i != values.size(); ++i) sum += values[i] == static_cast<int>(i) ? 1 : 0;
    co_return sum;
  });
  EXPECT_EQ(g.get(), 100);
  EXPECT_EQ(pool.block_on(rubato::when_all(std::vector<rubato::task<int>>())).size(), 0U);
}

TEST_P(when_all, of_tasks_brings_the_first_failure_when_all_end) {
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  auto const counting = [&](int n) -> rubato::task<int> {
    ++begun;
    for (int i = 0; i != 10; ++i) co_await rubato::yield();
    ++ended;
    co_return n;
  };
  auto f = pool.spawn([&]() -> rubato::task<void> {
    auto all = rubato::when_all(counting(1), fails(7), counting(2));
    co_await std::move(all);
  });
  EXPECT_EQ(failure_of([&] { f.get(); }), 7);
  EXPECT_EQ(ended, begun);
}

TEST_P(when_all, of_tasks_stops_with_its_awaiter) {
  std::atomic<int> ended{0};
  auto f = pool.spawn([&]() -> rubato::task<void> {
    auto all = rubato::when_all(until_stopped(ended), until_stopped(ended), until_stopped(ended));
    co_await std::move(all);
  });
  if (pool.size() != 0) {
    // some may not have begun
    f.cancel();
    EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  }
  f = {};
  EXPECT_TRUE(pool.wait_idle());
}

} // namespace
