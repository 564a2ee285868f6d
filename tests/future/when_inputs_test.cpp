// The inputs of when_all() and when_any(): which are stopped, which are awaited, and that no waiter stays on
// any.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <ranges>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/second_thread.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

class when_inputs : public on_workers {};
RUBATO_TEST_WITH_WORKERS(when_inputs, all_counts);

/// A result whose `when_all` state can be seen to be gone: that would hold it.
struct traced {
  std::weak_ptr<int> seen;
  rubato::shared_future<std::shared_ptr<int>> future;

  traced() {
    auto p = std::make_shared<int>(1);
    seen = p;
    future = rubato::make_ready_future(std::move(p)).share();
  }
};

TEST(when_inputs, regression_when_any_leaves_nothing_on_its_inputs) {
  rubato::promise<int> p;
  auto const long_lived = p.get_future().share();
  traced t;
  static_cast<void>(rubato::when_any(t.future, long_lived).get());
  static_cast<void>(rubato::when_any(long_lived, t.future, long_lived).get());
  t.future = {};
  EXPECT_TRUE(t.seen.expired());
  p.set_value(1);
}

TEST(when_inputs, regression_when_any_leaves_nothing_beside_a_race) {
  hang_guard const guard;
  rubato_test::second_thread setter;
  rubato::promise<int> never;
  auto const long_lived = never.get_future().share();
  std::size_t const rounds = scaled(3'000);
  for (std::size_t i = 0; i != rounds; ++i) {
    auto value = std::make_shared<int>(1);
    std::weak_ptr<int> const seen = value;
    rubato::promise<std::shared_ptr<int>> p;
    auto f = p.get_future();
    setter.begin_beside(i, [&] { p.set_value(std::move(value)); });
    static_cast<void>(rubato::when_any(std::move(f), long_lived, long_lived).get());
    setter.wait();
    ASSERT_TRUE(seen.expired());
  }
  never.set_value(1);
}

TEST(when_inputs, regression_failed_when_all_leaves_no_traces) {
  rubato::promise<int> p;
  auto const long_lived = p.get_future().share();
  traced t;
  {
    auto f =
        rubato::when_all(long_lived, rubato::make_exceptional_future<int>(failure(1)), t.future, long_lived);
    EXPECT_TRUE(f.ready());
    EXPECT_EQ(failure_of([&] { f.get(); }), 1);
  }
  t.future = {};
  EXPECT_TRUE(t.seen.expired());
  p.set_value(1);
  EXPECT_EQ(long_lived.get(), 1); // it was not stopped
}

TEST(when_inputs, regression_failed_when_all_only_tells_promises) {
  rubato::promise<int> a;
  rubato::promise<int> b;
  rubato::promise<int> c;
  std::stop_token const told = a.token();
  auto f = rubato::when_all(a.get_future(), b.get_future(), c.get_future());
  EXPECT_FALSE(told.stop_requested());
  c.set_exception(failure(3));
  EXPECT_TRUE(told.stop_requested());
  EXPECT_TRUE(f.ready());
  EXPECT_EQ(failure_of([&] { f.get(); }), 3);
  a.set_value(1);
  b.set_exception(failure(2));
}

TEST_P(when_inputs, regression_failed_when_all_ends_its_work_first) {
  if (pool.size() < 2) return; // the others would not begin before it fails
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  auto const until_stopped = [&](std::stop_token t) {
    ++begun;
    EXPECT_TRUE(rubato_test::eventually([&] { return t.stop_requested(); }));
    ++ended;
  };
  std::vector<rubato::future<void>> all;
  all.push_back(pool.spawn(until_stopped));
  all.push_back(pool.spawn([&] {
    EXPECT_TRUE(rubato_test::eventually([&] { return begun != 0; }));
    throw failure(1);
  }));
  all.push_back(pool.spawn(until_stopped));
  auto f = rubato::when_all(std::move(all));
  EXPECT_EQ(failure_of([&] { f.get(); }), 1);
  EXPECT_EQ(ended, begun);
  EXPECT_GE(begun, 1);
}

TEST_P(when_inputs, regression_when_all_fails_beside_its_inputs) {
  rubato_test::second_thread setter;
  rubato::promise<int> never;
  auto const long_lived = never.get_future().share();
  std::size_t const rounds = scaled(3'000);
  for (std::size_t i = 0; i != rounds; ++i) {
    rubato::promise<int> p;
    rubato::promise<int> told;
    auto f = p.get_future();
    auto g = told.get_future();
    setter.begin_beside(i, [&] { p.set_exception(failure(1)); });
    auto all = rubato::when_all(std::move(f), long_lived, std::move(g), pool.spawn([] { return 1; }));
    ASSERT_EQ(failure_of([&] { all.get(); }), 1);
    setter.wait();
  }
  never.set_value(1);
}

// Tasks, and futures that are awaited beside them

rubato::task<void> fails_with(int n) {
  co_await rubato::yield();
  throw failure(n);
}
/// Ends when it is stopped.
rubato::task<void> until_stopped(rubato::channel<int>& empty, std::atomic<int>& stopped) {
  auto const value = co_await empty.receive();
  if (value) throw failure(-3);
  ++stopped;
  throw rubato::cancelled();
}

TEST_P(when_inputs, regression_failing_tasks_stop_others_anywhere) {
  rubato::channel<int> empty(0);
  for (std::size_t const at : {0U, 1U, 2U}) {
    std::atomic<int> stopped{0};
    auto const of_three = [&](std::size_t fails) -> rubato::task<void> {
      std::vector<rubato::task<void>> all;
      for (std::size_t i = 0; i != 3; ++i)
        all.push_back(i == fails ? fails_with(7) : until_stopped(empty, stopped));
      static_cast<void>(co_await rubato::when_all(std::move(all)));
    };
    EXPECT_EQ(failure_of([&] { pool.block_on(of_three(at)); }), 7);
    EXPECT_LE(stopped, 2); // those that had begun
    auto const nested = [&]() -> rubato::task<void> {
      auto all = rubato::when_all(of_three(3), fails_with(8), of_three(3));
      static_cast<void>(co_await std::move(all));
    };
    EXPECT_EQ(failure_of([&] { pool.block_on(nested()); }), 8);
  }
}

TEST_P(when_inputs, regression_failing_tasks_stop_nothing_else) {
  rubato::channel<int> empty(0);
  std::atomic<int> stopped{0};
  std::stop_token outer;
  std::stop_token inner;
  std::atomic<bool> begun{false}; // one that has not begun is not asked to stop
  auto const asks = [&]() -> rubato::task<void> {
    inner = rubato::this_task_stop_token();
    begun = true;
    co_await until_stopped(empty, stopped);
  };
  auto const fails_then = [&]() -> rubato::task<void> {
    while (!begun) co_await rubato::yield();
    throw failure(1);
  };
  auto const body = [&]() -> rubato::task<int> {
    outer = rubato::this_task_stop_token();
    auto all = rubato::when_all(asks(), fails_then());
    int caught = 0;
    try {
      static_cast<void>(co_await std::move(all));
    } catch (failure const& f) {
      caught = f.number;
    }
    co_await rubato::yield();
    EXPECT_FALSE(rubato::this_task_stop_token().stop_requested());
    co_return caught;
  };
  EXPECT_EQ(pool.block_on(body()), 1);
  EXPECT_TRUE(inner.stop_requested());
  EXPECT_FALSE(outer.stop_requested());
  EXPECT_EQ(stopped, 1);
}

TEST_P(when_inputs, regression_failing_tasks_await_work_not_promises) {
  rubato::promise<int> a;
  rubato::promise<int> b;
  auto const shared = b.get_future().share();
  auto promised = a.get_future();
  auto mixed = rubato::when_all(std::move(promised), fails_with(1), shared);
  EXPECT_EQ(failure_of([&] { pool.block_on(std::move(mixed)); }), 1);
  b.set_value(2);
  EXPECT_EQ(shared.get(), 2);
  if (pool.size() < 2) return; // the work would not begin before the task fails

  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  auto work = pool.spawn([&](std::stop_token t) {
    ++begun;
    EXPECT_TRUE(rubato_test::eventually([&] { return t.stop_requested(); }));
    ++ended;
  });
  auto const fails_later = [&]() -> rubato::task<void> {
    while (begun == 0) co_await rubato::yield();
    throw failure(2);
  };
  auto all = rubato::when_all(std::move(work), fails_later());
  EXPECT_EQ(failure_of([&] { pool.block_on(std::move(all)); }), 2);
  EXPECT_EQ(ended, 1);
}

/// The task fails before the argument that stands for the work has begun, here or elsewhere.
TEST_P(when_inputs, regression_failing_tasks_await_what_has_begun) {
  rubato::pool other(1);
  for (bool const first : {false, true}) {
    std::atomic<bool> begun{false};
    std::atomic<bool> ended{false};
    auto work = other.spawn([&](std::stop_token t) {
      begun = true;
      EXPECT_TRUE(rubato_test::eventually([&] { return t.stop_requested(); }));
      std::this_thread::sleep_for(std::chrono::milliseconds(5)); // without the wait, the caller overtakes it
      ended = true;
    });
    while (!begun) std::this_thread::yield();
    auto const fails = [&]() -> rubato::task<void> {
      if (first) co_await rubato::yield(); // queues the other argument
      throw failure(2);
    };
    auto all = rubato::when_all(fails(), std::move(work));
    EXPECT_EQ(failure_of([&] { pool.block_on(std::move(all)); }), 2);
    EXPECT_TRUE(ended);
    ended = true;
  }
}

TEST(when_inputs, regression_shared_ones_may_be_const) {
  std::vector<rubato::shared_future<int>> const all = {rubato::make_ready_future(1).share(),
                                                       rubato::make_ready_future(2).share()};
  EXPECT_EQ(rubato::when_all(all).get(), (std::vector{1, 2}));
  EXPECT_EQ(rubato::when_any(all).get().value, 1);
  EXPECT_TRUE(all[0].valid());
}

TEST(when_inputs, regression_an_invalid_one_leaves_others_alone) {
  rubato::promise<int> p;
  std::stop_token const told = p.token();
  std::vector<rubato::future<int>> all(2); // the second is invalid
  all[0] = p.get_future();
  auto const refused = [](auto f) { return rubato_test::outcome_of(f) == outcome::no_state; };
  EXPECT_TRUE(refused([&] { return rubato::when_all(std::move(all[0]), std::move(all[1])); }));
  EXPECT_TRUE(refused([&] { return rubato::when_any(std::move(all[0]), std::move(all[1])); }));
  EXPECT_TRUE(refused([&] { return rubato::when_all(std::move(all)); }));
  EXPECT_TRUE(refused([&] { return rubato::when_any(std::move(all)); }));
  ASSERT_TRUE(all[0].valid()); // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_FALSE(told.stop_requested());

  // A view that makes its futures has no place to leave them in: they are dropped.
  auto made = std::views::transform(all, [](rubato::future<int>& f) { return std::move(f); });
  EXPECT_TRUE(refused([&] { return rubato::when_all(made); }));
  EXPECT_TRUE(told.stop_requested());
  p.set_value(1);
}

TEST(when_inputs, regression_one_passed_twice_is_refused) {
  auto const refused = [](auto f) { return rubato_test::outcome_of(f) == outcome::no_state; };
  EXPECT_TRUE(refused([f = rubato::make_ready_future(1)]() mutable { return rubato::when_all(f, f); }));
  EXPECT_TRUE(refused([f = rubato::make_ready_future(1)]() mutable { return rubato::when_any(f, f); }));
}

} // namespace
