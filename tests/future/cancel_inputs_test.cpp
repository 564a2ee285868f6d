// What cancelled work still waits for: for what of its own has begun, not for promises nor for what others
// share with it.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "support/locks_when_it_goes.hpp"
#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/second_thread.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

class cancelling_inputs : public on_workers {};
RUBATO_TEST_WITH_WORKERS(cancelling_inputs, all_counts);

/// How it ends when it is cancelled; it must not wait for `never`.
template<class Future>
outcome cancelled_end(Future f) {
  f.cancel();
  return outcome_of_get(f);
}

TEST_P(cancelling_inputs, regression_continuations_await_no_promise) {
  leak_check const none_left;
  std::atomic<int> runs{0};
  for (bool const here : {false, true}) {
    rubato::promise<int> a, b, c, d;
    auto const then = [&](rubato::future<int> f, auto g) {
      return here ? std::move(f).then(std::move(g)) : std::move(f).then(pool, std::move(g));
    };
    EXPECT_EQ(cancelled_end(then(a.get_future(), [&runs, x = counted(1)](int) { runs += x.value; })),
              outcome::cancelled);
    EXPECT_EQ(cancelled_end(then(b.get_future(), [&runs](rubato::future<int>) { ++runs; })),
              outcome::cancelled);
    EXPECT_EQ(cancelled_end(then(c.get_future(),
                                 [&runs](int) -> rubato::task<int> {
                                   ++runs;
                                   co_return 1;
                                 })),
              outcome::cancelled);
    EXPECT_EQ(cancelled_end(then(d.get_future(), [](int n) { return n; }).then([&runs](int) { ++runs; })),
              outcome::cancelled);
    a.set_value(1); // no future is left that could get it
    b.set_exception(rubato_test::failure(1));
  }
  EXPECT_EQ(runs, 0);
}

TEST(cancelling_inputs, regression_gatherings_await_no_promise) {
  leak_check const none_left;
  rubato::promise<int> a, b, c, d, e;
  EXPECT_EQ(cancelled_end(rubato::when_all(a.get_future(), b.get_future())), outcome::cancelled);
  std::vector<rubato::future<int>> some;
  some.push_back(c.get_future());
  some.push_back(rubato::make_ready_future(1));
  EXPECT_EQ(cancelled_end(rubato::when_all(std::move(some))), outcome::cancelled);
  EXPECT_EQ(cancelled_end(rubato::when_any(d.get_future(), e.get_future())), outcome::cancelled);
  a.set_value(1);
  d.set_value(2);
}

TEST(cancelling_inputs, the_first_failure_of_all_is_what_it_was) {
  rubato::promise<int> fails, never;
  auto all = rubato::when_all(fails.get_future(), never.get_future());
  fails.set_exception(rubato_test::failure(3));
  all.cancel();
  EXPECT_EQ(rubato_test::failure_of([&] { return all.get(); }), 3);
  rubato::promise<int> wins, loses;
  auto any = rubato::when_any(wins.get_future(), loses.get_future());
  wins.set_value(4);
  any.cancel();
  EXPECT_EQ(any.get().index, 0U);
}

TEST_P(cancelling_inputs, regression_flattening_awaits_no_promise) {
  leak_check const none_left;
  rubato::promise<int> never, nor_that;
  auto flat = pool.spawn([&, c = counted(1)] { return never.get_future(); });
  if (GetParam() != 0) pool.wait_idle(); // it waits for the inner one
  EXPECT_EQ(cancelled_end(std::move(flat)), outcome::cancelled);
  auto const stopped = outcome_of([&] {
    rubato::with_scope(pool, [&](rubato::scope& s) {
      s.spawn([&] { return nor_that.get_future(); });
      s.request_stop();
      s.wait();
    });
    return 0;
  });
  EXPECT_TRUE(stopped == outcome::value || stopped == outcome::cancelled) << stopped;
}

TEST(cancelling_inputs, shared_futures_are_left_to_others) {
  rubato::promise<int> p;
  auto const shared = p.get_future().share();
  auto const token = p.token();
  EXPECT_EQ(cancelled_end(shared.then([](int n) { return n; })), outcome::cancelled);
  EXPECT_EQ(cancelled_end(rubato::when_all(shared, shared)), outcome::cancelled);
  EXPECT_EQ(cancelled_end(rubato::when_any(shared, shared)), outcome::cancelled);
  EXPECT_FALSE(token.stop_requested());
  auto other = shared.then([](int n) { return n + 1; });
  p.set_value(1);
  EXPECT_EQ(other.get(), 2);
}

TEST_P(cancelling_inputs, own_work_that_has_begun_is_waited_for) {
  if (GetParam() == 0) return;
  for (int kind = 0; kind != 3; ++kind) {
    rubato_test::gate begun, open;
    int borrowed = 0; // by what runs, until it ends
    auto work = [&](std::stop_token stop) {
      begun.open();
      EXPECT_TRUE(rubato_test::eventually([&] { return stop.stop_requested(); }));
      EXPECT_TRUE(open.wait());
      return ++borrowed;
    };
    rubato::future<int> source, flat;
    if (kind != 2)
      source = pool.spawn(work);
    else
      flat = pool.spawn([&] { return pool.spawn(work); });
    EXPECT_TRUE(begun.wait());
    rubato::promise<int> never;
    std::jthread const opener([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      open.open();
    });
    if (kind == 0) {
      auto f = std::move(source).then([](int n) { return n; });
      EXPECT_EQ(cancelled_end(std::move(f)), outcome::cancelled);
    } else if (kind == 1) {
      auto f = rubato::when_all(std::move(source), never.get_future());
      EXPECT_EQ(cancelled_end(std::move(f)), outcome::cancelled);
    } else {
      EXPECT_EQ(cancelled_end(std::move(flat)), outcome::value); // it brings one all the same
    }
    EXPECT_EQ(borrowed, 1);
    pool.wait_idle();
  }
}

TEST_P(cancelling_inputs, a_promise_shows_that_it_is_not_wanted) {
  rubato::promise<int> p;
  EXPECT_TRUE(p.token().stop_possible());
  auto f = p.get_future();
  EXPECT_FALSE(p.token().stop_requested());
  std::atomic<int> told{0};
  std::stop_callback const tell(p.token(), [&] { ++told; });
  f.cancel();
  EXPECT_TRUE(p.token().stop_requested());
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(f.ready()); // it is up to the promise
  p.set_value(3);
  EXPECT_EQ(f.get(), 3);
  EXPECT_FALSE(p.token().stop_possible());

  rubato::promise<void> dropped, through;
  static_cast<void>(dropped.get_future());
  EXPECT_TRUE(dropped.token().stop_requested());
  {
    auto const chain = through.get_future().then(pool, [] {}).then([] {});
  }
  EXPECT_TRUE(through.token().stop_requested());
  rubato::promise<void> moved(std::move(through));
  EXPECT_EQ(outcome_of([&] { return through.token().stop_possible(); }), // NOLINT(bugprone-use-after-move)
            outcome::no_state);
}

TEST_P(cancelling_inputs, a_promise_may_be_set_by_its_stop_callback) {
  rubato::promise<int> p;
  auto f = p.get_future().then(pool, [](int n) { return n; });
  std::stop_callback const keep(p.token(), [&] { p.set_value(7); });
  f.cancel();
  auto const how = outcome_of_get(f);
  EXPECT_EQ(how, outcome::cancelled);
}

TEST_P(cancelling_inputs, under_a_lock_that_destruction_takes_too) {
  std::mutex mutex;
  rubato::promise<void> never;
  auto f = never.get_future().then(pool, [l = locks_when_it_goes(mutex)] {});
  {
    std::lock_guard const held(mutex);
    f.cancel(); // the callable is destroyed elsewhere, later
  }
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
}

TEST_P(cancelling_inputs, a_long_chain_behind_a_promise) {
  rubato::promise<int> never;
  auto f = never.get_future().then(pool, [](int n) { return n; });
  for (std::size_t i = rubato_test::scaled(100'000); i != 0; --i)
    f = std::move(f).then([](int n) { return n; });
  EXPECT_EQ(cancelled_end(std::move(f)), outcome::cancelled);
}

TEST_P(cancelling_inputs, racing_the_promise) {
  leak_check const none_left;
  rubato_test::second_thread other;
  for (std::size_t i = rubato_test::scaled(3'000); i != 0; --i) {
    rubato::promise<int> a, b;
    auto next = a.get_future().then(pool, [c = counted(1)](int n) { return n + c.value; });
    auto all = rubato::when_all(std::move(next), b.get_future());
    auto flat = pool.spawn([f = std::move(all)]() mutable { return std::move(f); });
    other.begin([&] {
      a.set_value(1);
      b.set_value(2);
    });
    flat.cancel();
    auto const how = outcome_of_get(flat);
    EXPECT_TRUE(how == outcome::value || how == outcome::cancelled) << how;
    other.wait();
  }
  pool.wait_idle(); // what was left behind in the queue
}

} // namespace
