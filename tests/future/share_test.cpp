// shared_future: one result for any number of waiters.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/second_thread.hpp"
#include "support/values.hpp"

namespace {

using namespace rubato_test;

class sharing : public on_workers {};
RUBATO_TEST_WITH_WORKERS(sharing, all_counts);

TEST_P(sharing, leaves_the_result_where_it_is) {
  auto const s = pool.spawn([] { return std::make_unique<int>(1); }).share();
  static_assert(std::same_as<decltype(s.get()), std::unique_ptr<int> const&>);
  EXPECT_EQ(*s.get(), 1);
  auto const copy = s; // NOLINT(performance-unnecessary-copy-initialization): that is the test
  EXPECT_EQ(&copy.get(), &s.get());
  int object = 0;
  rubato::shared_future<int&> const reference = pool.spawn([&object]() -> int& { return object; });
  static_assert(std::same_as<decltype(reference.get()), int&>);
  EXPECT_EQ(&reference.get(), &object);
  rubato::shared_future<void> const nothing = pool.spawn([] {});
  nothing.get();
  nothing.get();
}

TEST_P(sharing, an_exception_throws_it_to_everybody) {
  auto const s = pool.spawn([]() -> int { throw failure(1); }).share();
  for (int i = 0; i != 3; ++i) EXPECT_EQ(failure_of([&] { s.get(); }), 1);
  EXPECT_EQ(failure_of([&] { s.then([](int n) { return n; }).get(); }), 1);
}

TEST_P(sharing, leaves_the_future_invalid_and_needs_a_valid_one) {
  auto f = pool.spawn([] { return 1; });
  auto const s = f.share();
  EXPECT_FALSE(f.valid());
  EXPECT_EQ(outcome_of([&] { static_cast<void>(f.share()); }), outcome::no_state);
  rubato::shared_future<int> const none;
  EXPECT_FALSE(none.valid());
  EXPECT_FALSE(none.ready());
  EXPECT_EQ(outcome_of_get(none), outcome::no_state);
  EXPECT_EQ(outcome_of([&] { auto g = none.then([](int n) { return n; }); }), outcome::no_state);
  EXPECT_EQ(s.get(), 1);
}

TEST_P(sharing, takes_continuations_of_every_form) {
  rubato::promise<std::string> p;
  auto const s = p.get_future().share();
  auto by_reference = s.then(pool, [](std::string const& text) { return &text; });
  auto by_value = s.then(pool, [](std::string text) { return text + "!"; });
  auto with_token = s.then(pool, [](std::stop_token, std::string const& text) { return text.size(); });
  auto whole = s.then(pool, [](rubato::shared_future<std::string> f) { return f.ready() ? f.get() : ""; });
  auto generic = s.then(pool, [](auto const& text) { return text.size(); });
  p.set_value("word");
  EXPECT_EQ(by_reference.get(), &s.get());
  EXPECT_EQ(by_value.get(), "word!");
  EXPECT_EQ(with_token.get(), 4U);
  EXPECT_EQ(whole.get(), "word");
  EXPECT_EQ(generic.get(), 4U);
  EXPECT_EQ(s.then(pool, [](std::string const& text) { return text; }).get(), "word"); // later
}

TEST_P(sharing, calls_continuations_in_the_order_in_which_they_came) {
  if (GetParam() > 1) return;                                          // then they may pass each other
  rubato::pool alone(rubato_test::with_workers(GetParam()).spares(0)); // no thread relieves the worker
  rubato::promise<void> p;
  auto const s = p.get_future().share();
  std::vector<int> order, expected;
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 100; ++i) {
    all.push_back(s.then(alone, [&order, i] { order.push_back(i); }));
    expected.push_back(i);
  }
  p.set_value();
  alone.wait_idle(); // a wait for one of them could run it before its turn
  EXPECT_EQ(order, expected);
}

TEST_P(sharing, with_many_threads_tasks_and_coroutines) {
  std::size_t const n = scaled(200);
  rubato::promise<int> p;
  auto const s = p.get_future().share();
  std::vector<std::thread> threads;
  for (int i = 0; i != 4; ++i)
    threads.emplace_back([s] {
      for (int k = 0; k != 10; ++k) EXPECT_EQ(s.get(), 5);
    });
  std::vector<rubato::future<int>> all;
  auto const awaits = [](rubato::shared_future<int> f) -> rubato::task<int> {
    int const first = co_await f;
    int const second = co_await f;
    co_return first + second;
  };
  for (std::size_t i = 0; i != n; ++i) {
    all.push_back(pool.spawn(awaits, s));
    all.push_back(s.then(pool, [](int v) { return 2 * v; }));
    if (pool.size() != 0) all.push_back(pool.spawn([s] { return 2 * s.get(); }));
  }
  p.set_value(5);
  for (auto& f : all) ASSERT_EQ(f.get(), 10);
  for (auto& t : threads) t.join();
}

TEST_P(sharing, dropped_asks_no_work_to_stop) {
  std::atomic<bool> ran{false};
  {
    auto const s = pool.spawn([&ran] { ran = true; }).share();
  }
  pool.wait_idle();
  EXPECT_TRUE(ran);
}

TEST_P(sharing, a_cancelled_continuation_does_not_stop_the_others) {
  rubato::promise<int> p;
  auto const s = p.get_future().share();
  auto kept = s.then(pool, [](int n) { return n; });
  auto cancelled = s.then(pool, [](int n) { return n; });
  {
    auto const dropped = s.then(pool, [](int n) { return n; });
  }
  cancelled.cancel();
  p.set_value(1);
  EXPECT_EQ(kept.get(), 1);
  EXPECT_EQ(outcome_of_get(cancelled), outcome::cancelled);
}

TEST(sharing, frees_the_result_with_the_last_copy) {
  leak_check const none_left;
  rubato::promise<counted> p;
  std::vector<rubato::shared_future<counted>> copies(100, p.get_future().share());
  p.set_value(counted(1));
  while (copies.size() > 1) copies.pop_back();
  EXPECT_EQ(copies.front().get().value, 1);
}

TEST_P(sharing, of_as_many_continuations_as_one_likes) {
  std::size_t const n = scaled(pool.size() == 0 ? 10'000 : 200'000);
  std::atomic<std::size_t> runs{0};
  rubato::promise<int> p;
  auto const s = p.get_future().share();
  std::vector<rubato::future<void>> all;
  all.reserve(n);
  for (std::size_t i = 0; i != n; ++i) all.push_back(s.then(pool, [&runs](int) { ++runs; }));
  p.set_value(1);
  for (auto& f : all) f.get();
  EXPECT_EQ(runs, n);
}

TEST_P(sharing, copies_that_race_with_the_value) {
  leak_check const none_left;
  rubato_test::second_thread setter;
  std::size_t const rounds = scaled(4'000);
  for (std::size_t i = 0; i != rounds; ++i) {
    rubato::promise<counted> p;
    auto s = p.get_future().share();
    setter.begin_beside(i, [&p] { p.set_value(counted(3)); });
    auto copy = s;
    auto one = s.then(pool, [](counted const& c) { return c.value; });
    auto other = copy.then(pool, [](rubato::shared_future<counted> f) { return f.get().value; });
    if (i % 3 == 0) s = {};
    ASSERT_EQ(copy.get().value, 3);
    ASSERT_EQ(one.get() + other.get(), 6);
    setter.wait();
  }
  pool.wait_idle();
}

} // namespace
