// Callables that return tasks and futures: what they bring is brought, and they live until then.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

class flattening : public on_workers {};
RUBATO_TEST_WITH_WORKERS(flattening, all_counts);

rubato::task<int> number(int n) { co_return n; }
rubato::task<int> after(rubato::future<int> f) {
  int const n = co_await std::move(f);
  co_return n;
}

TEST_P(flattening, of_tasks) {
  auto f = pool.spawn([] { return number(1); });
  static_assert(std::same_as<decltype(f), rubato::future<int>>);
  EXPECT_EQ(f.get(), 1);
  EXPECT_EQ(pool.spawn([](int n) { return number(n); }, 2).get(), 2);
  EXPECT_EQ(
      pool.spawn([](std::stop_token t, int n) -> rubato::task<int> { co_return t.stop_possible() ? n : 0; },
                 3)
          .get(),
      3);
  pool.spawn([]() -> rubato::task<void> { co_return; }).get();
  int object = 0;
  EXPECT_EQ(&pool.spawn([&object]() -> rubato::task<int&> { co_return object; }).get(), &object);
  EXPECT_EQ(pool.spawn([]() -> rubato::task<move_only> { co_return move_only(4); }).get().value, 4);
}

TEST_P(flattening, of_futures) {
  auto f = pool.spawn([this] { return pool.spawn([] { return 1; }); });
  static_assert(std::same_as<decltype(f), rubato::future<int>>);
  EXPECT_EQ(f.get(), 1);
  auto deep = pool.spawn([this] {
    return pool.spawn(
        [this] { return pool.spawn([this] { return pool.spawn([] { return std::string("deep"); }); }); });
  });
  static_assert(std::same_as<decltype(deep), rubato::future<std::string>>);
  EXPECT_EQ(deep.get(), "deep");
  EXPECT_EQ(pool.spawn([] { return rubato::make_ready_future(2); }).get(), 2);
  EXPECT_EQ(*pool.spawn([] { return rubato::make_ready_future(std::make_unique<int>(3)); }).get(), 3);
  pool.spawn([this] { return pool.spawn([] {}); }).get();
  int object = 0;
  EXPECT_EQ(&pool.spawn([this, &object] { return pool.spawn([&object]() -> int& { return object; }); }).get(),
            &object);
}

TEST_P(flattening, of_a_promise_that_is_kept_or_broken_later) {
  rubato::promise<int> kept;
  auto f = pool.spawn([inner = kept.get_future()]() mutable { return std::move(inner); });
  if (pool.size() != 0) pool.wait_idle();
  EXPECT_FALSE(f.ready());
  kept.set_value(5);
  EXPECT_EQ(f.get(), 5);

  auto broken = std::make_unique<rubato::promise<int>>();
  auto g = pool.spawn([inner = broken->get_future()]() mutable { return std::move(inner); });
  pool.wait_idle();
  broken.reset();
  EXPECT_EQ(outcome_of_get(g), outcome::broken);
}

TEST_P(flattening, brings_the_exceptions_of_both) {
  using future = rubato::future<int>;
  EXPECT_EQ(failure_of([&] { pool.spawn([]() -> future { throw failure(1); }).get(); }), 1);
  EXPECT_EQ(
      failure_of([&] { pool.spawn([] { return rubato::make_exceptional_future<int>(failure(2)); }).get(); }),
      2);
  EXPECT_EQ(
      failure_of([&] { pool.spawn([this] { return pool.spawn([]() -> int { throw failure(3); }); }).get(); }),
      3);
  auto const thrower = [](int n) -> rubato::task<int> {
    throw failure(n);
    co_return 0;
  };
  EXPECT_EQ(failure_of([&] { pool.spawn(thrower, 4).get(); }), 4);
  auto const throws_before = []() -> rubato::task<int> { throw failure(5); }; // no coroutine
  EXPECT_EQ(failure_of([&] { pool.spawn(throws_before).get(); }), 5);
}

TEST_P(flattening, of_nothing_is_an_error_of_the_result) {
  auto f = pool.spawn([] { return rubato::future<int>(); });
  EXPECT_EQ(outcome_of_get(f), outcome::no_state);
  auto t = pool.spawn([] { return rubato::task<int>(); });
  EXPECT_EQ(outcome_of_get(t), outcome::no_state);
  auto direct = pool.spawn(rubato::task<int>());
  EXPECT_EQ(outcome_of_get(direct), outcome::no_state);
}

TEST_P(flattening, keeps_the_callable_of_a_task_until_that_ends) {
  leak_check const none_left;
  rubato::promise<int> later;
  auto f = pool.spawn(
      [captured = counted(10),
       inner = later.get_future()](counted const& argument) mutable -> rubato::task<int> {
        int const n = co_await std::move(inner);
        co_return n + captured.value + argument.value;
      },
      counted(200));
  if (pool.size() != 0) pool.wait_idle();
  later.set_value(3);
  EXPECT_EQ(f.get(), 213);
}

TEST_P(flattening, keeps_the_callable_of_a_future_until_that_ends) {
  rubato::promise<int> later;
  auto const shared = std::make_shared<int>(1);
  auto f = pool.spawn(
      [shared, inner = later.get_future()](std::shared_ptr<int> const&) mutable { return std::move(inner); },
      shared);
  pool.wait_idle();
  EXPECT_EQ(shared.use_count(), 3);
  later.set_value(3);
  EXPECT_EQ(f.get(), 3);
  EXPECT_EQ(shared.use_count(), 1);
}

TEST_P(flattening, in_continuations) {
  EXPECT_EQ(pool.spawn([] { return 1; }).then([](int n) { return number(n + 1); }).get(), 2);
  EXPECT_EQ(
      pool.spawn([] { return 1; }).then([this](int n) { return pool.spawn([n] { return n + 2; }); }).get(),
      3);
  EXPECT_EQ(
      pool.spawn([] { return 1; }).then([](rubato::future<int> f) { return after(std::move(f)); }).get(), 1);
  EXPECT_EQ(failure_of([&] {
              pool.spawn([] { return 1; })
                  .then([](int n) -> rubato::task<int> {
                    if (n == 1) throw failure(7);
                    co_return n;
                  })
                  .get();
            }),
            7);
  leak_check const none_left;
  auto f = pool.spawn([] { return 1; }).then([captured = counted(5)](int n) -> rubato::task<int> {
    co_await rubato::yield();
    co_return n + captured.value;
  });
  EXPECT_EQ(f.get(), 6);
  pool.wait_idle();
}

TEST_P(flattening, passes_a_stop_request_on) {
  std::atomic<bool> begun{false};
  auto f = pool.spawn([&] {
    return pool.spawn([&](std::stop_token stop) {
      begun = true;
      while (!stop.stop_requested()) std::this_thread::yield();
      return 1;
    });
  });
  if (pool.size() == 0) return; // no thread would run it meanwhile
  ASSERT_TRUE(rubato_test::eventually([&] { return begun.load(); }));
  f.cancel();
  EXPECT_EQ(f.get(), 1);
}

TEST_P(flattening, passes_a_stop_on_that_came_before_the_inner_one) {
  if (pool.size() == 0) return;
  rubato_test::gate cancelled;
  std::atomic<bool> begun{false};
  auto f = pool.spawn([&] {
    begun = true;
    EXPECT_TRUE(cancelled.wait());
    return pool.spawn([] { return 1; });
  });
  ASSERT_TRUE(rubato_test::eventually([&] { return begun.load(); }));
  f.cancel();
  cancelled.open();
  auto const how = outcome_of_get(f);
  EXPECT_TRUE(how == outcome::cancelled || how == outcome::value) << how; // with several it may have begun
}

} // namespace
