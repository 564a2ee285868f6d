// cancel(), dropping and detach(): which work is asked to stop, and which is not begun.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/second_thread.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

class cancelling : public on_workers {};
RUBATO_TEST_WITH_WORKERS(cancelling, all_counts);

class cancelling_what_runs : public on_workers {};
RUBATO_TEST_WITH_WORKERS(cancelling_what_runs, counts_with_workers);

TEST(cancelling, begins_nothing_that_has_not_begun) {
  hang_guard const guard;
  rubato::pool idle(rubato::no_workers);
  leak_check const none_left;
  std::atomic<int> runs{0};
  auto closure = idle.spawn([&runs, c = counted(1)] { runs += c.value; });
  auto coroutine = idle.spawn([&runs, c = counted(1)]() -> rubato::task<int> { co_return runs += c.value; });
  auto flat = idle.spawn([&runs, c = counted(1)] { return rubato::make_ready_future(runs += c.value); });
  auto continuation = idle.spawn([&runs] { ++runs; }).then([&runs](rubato::future<void> const&) { ++runs; });
  closure.cancel();
  coroutine.cancel();
  flat.cancel();
  continuation.cancel();
  EXPECT_EQ(outcome_of_get(closure), outcome::cancelled);
  EXPECT_EQ(outcome_of_get(coroutine), outcome::cancelled);
  EXPECT_EQ(outcome_of_get(flat), outcome::cancelled);
  EXPECT_EQ(outcome_of_get(continuation), outcome::cancelled);
  idle.wait_idle();
  EXPECT_EQ(runs, 0);
}

TEST(cancelling, dropped_means_the_same_and_detached_does_not) {
  hang_guard const guard;
  rubato::pool idle(rubato::no_workers);
  leak_check const none_left;
  std::atomic<int> dropped{0};
  std::atomic<int> detached{0};
  {
    auto const f = idle.spawn([&dropped, c = counted(1)] { dropped += c.value; });
  }
  {
    auto const f = idle.spawn([&dropped] { ++dropped; }).then([&dropped] { ++dropped; });
  }
  idle.spawn([&detached] { ++detached; }).detach();
  idle.spawn([&detached] { ++detached; }).then([&detached] { ++detached; }).detach();
  idle.wait_idle();
  EXPECT_EQ(dropped, 0);
  EXPECT_EQ(detached, 3);
}

TEST_P(cancelling, a_kept_continuation_keeps_its_source) {
  std::atomic<int> runs{0};
  auto f = pool.spawn([&runs] { ++runs; }).then([&runs] { ++runs; });
  f.get();
  EXPECT_EQ(runs, 2);
}

TEST_P(cancelling, what_is_done_changes_nothing) {
  auto f = pool.spawn([] { return 1; });
  f.wait();
  f.cancel();
  f.cancel();
  EXPECT_EQ(f.get(), 1);
  EXPECT_EQ(outcome_of([&] { f.cancel(); }), outcome::no_state);
  rubato::promise<int> p;
  auto g = p.get_future();
  g.cancel(); // nothing listens
  p.set_value(2);
  EXPECT_EQ(g.get(), 2);
}

TEST_P(cancelling_what_runs, asks_it_and_takes_what_it_brings) {
  std::atomic<bool> begun{false};
  auto f = pool.spawn([&begun](std::stop_token t) {
    begun = true;
    EXPECT_TRUE(eventually([&] { return t.stop_requested(); }));
    return 1;
  });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  f.cancel();
  EXPECT_EQ(f.get(), 1);
}

TEST_P(cancelling_what_runs, asks_through_a_chain) {
  std::atomic<bool> begun{false};
  auto f = pool.spawn([&begun](std::stop_token t) {
                 begun = true;
                 EXPECT_TRUE(eventually([&] { return t.stop_requested(); }));
               })
               .then([] { return 1; })
               .then([](int n) { return n; });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  f.cancel();
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled); // the continuations had not begun
}

TEST_P(cancelling_what_runs, asks_its_scopes_joins_and_loops) {
  std::atomic<bool> begun{false};
  std::atomic<int> stopped{0};
  auto const until_stopped = [&] {
    begun = true;
    auto const token = rubato::this_task_stop_token();
    EXPECT_TRUE(eventually([&] { return token.stop_requested(); }));
    ++stopped;
  };
  auto f = pool.spawn([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn([&] { rubato::join(until_stopped, [] {}); });
      s.spawn([&] { rubato::with_scope([&](rubato::scope& inner) { inner.spawn(until_stopped); }); });
    });
  });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  f.cancel();
  f.wait();
  EXPECT_GE(stopped, 1);
}

TEST_P(cancelling_what_runs, asks_what_it_awaits) {
  std::atomic<bool> begun{false};
  auto const innermost = [&begun]() -> rubato::task<int> {
    begun = true;
    co_await rubato::sleep_for(std::chrono::hours(1));
    co_return 1;
  };
  auto const middle = [&]() -> rubato::task<int> {
    int const n = co_await innermost();
    co_return n;
  };
  auto f = pool.spawn(middle);
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  f.cancel();
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);

  // An awaited future is dropped with the coroutine, and so asked as well.
  std::atomic<bool> asked{false};
  begun = false;
  auto g = pool.spawn([&]() -> rubato::task<void> {
    auto inner = pool.spawn([&](std::stop_token t) {
      begun = true;
      asked = eventually([&] { return t.stop_requested(); });
    });
    co_await std::move(inner);
  });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  g.cancel();
  EXPECT_EQ(outcome_of_get(g), outcome::cancelled);
  pool.wait_idle();
  EXPECT_TRUE(asked);
}

TEST_P(cancelling_what_runs, leaves_what_it_spawned_alone) {
  rubato::future<int> free;
  rubato_test::gate cancelled;
  std::atomic<bool> begun{false};
  auto f = pool.spawn([&] {
    free = pool.spawn([] { return 1; });
    begun = true;
    EXPECT_TRUE(cancelled.wait());
  });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  f.cancel();
  cancelled.open();
  f.wait();
  EXPECT_EQ(free.get(), 1);
}

/// As when a callback API is adapted: a stop request breaks the operation off, which then completes at once.
class operation {
  std::mutex mutex_;
  bool over_ = false;
  rubato::promise<int> result_;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;

public:
  rubato::future<int> begin(std::stop_token t) {
    auto f = result_.get_future();
    on_stop_.emplace(std::move(t), [this] { complete(-1); });
    return f;
  }
  void complete(int result) {
    std::lock_guard const lock(mutex_); // a promise may be kept under a lock
    if (!std::exchange(over_, true)) result_.set_value(result);
  }
};

TEST_P(cancelling, that_completes_the_work_in_its_callback) {
  operation op;
  auto f = pool.spawn([&op](std::stop_token t) { return op.begin(std::move(t)); });
  pool.wait_idle();
  f.cancel();
  EXPECT_EQ(f.get(), -1);
}

TEST_P(cancelling, may_complete_a_continuations_source_in_a_callback) {
  operation op;
  auto f =
      pool.spawn([&op](std::stop_token t) { return op.begin(std::move(t)); }).then([](int n) { return n; });
  pool.wait_idle();
  f.cancel();
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
}

TEST_P(cancelling, that_completes_all_of_several_in_its_callback) {
  operation a;
  operation b;
  auto f = rubato::when_all(pool.spawn([&a](std::stop_token t) { return a.begin(std::move(t)); }),
                            pool.spawn([&b](std::stop_token t) { return b.begin(std::move(t)); }))
               .then([](std::tuple<int, int> t) { return std::get<0>(t) + std::get<1>(t); });
  pool.wait_idle();
  f = {};
  pool.wait_idle();
}

TEST_P(cancelling, racing_a_callback_that_completes_the_source) {
  rubato_test::second_thread canceller;
  std::size_t const rounds = scaled(1'000);
  for (std::size_t i = 0; i != rounds; ++i) {
    operation op;
    auto f =
        pool.spawn([&op](std::stop_token t) { return op.begin(std::move(t)); }).then([](int n) { return n; });
    pool.wait_idle();
    canceller.begin_beside(i, [&f] { f.cancel(); });
    op.complete(1);
    canceller.wait();
    auto const how = outcome_of_get(f);
    ASSERT_TRUE(how == outcome::value || how == outcome::cancelled) << how;
  }
}

TEST_P(cancelling, racing_the_beginning_and_the_end) {
  leak_check const none_left;
  std::size_t const rounds = scaled(10'000);
  for (std::size_t i = 0; i != rounds; ++i) {
    std::atomic<int> runs{0};
    auto f = pool.spawn([&runs, c = counted(1)] { return runs += c.value; });
    rubato_test::delay(static_cast<unsigned>(i * 13 % 400));
    f.cancel();
    auto const how = outcome_of_get(f);
    ASSERT_EQ(how, runs == 1 ? outcome::value : outcome::cancelled);
  }
  pool.wait_idle();
}

TEST_P(cancelling, racing_then_and_its_promise) {
  leak_check const none_left;
  rubato_test::second_thread setter;
  std::size_t const rounds = scaled(4'000);
  for (std::size_t i = 0; i != rounds; ++i) {
    std::atomic<int> runs{0};
    rubato::promise<counted> p;
    auto f = p.get_future();
    setter.begin([&p, i] {
      rubato_test::delay(static_cast<unsigned>(i * 7 % 200));
      p.set_value(counted(1));
    });
    auto g = f.then(pool, [&runs](counted c) { return runs += c.value; }).then([](int n) { return n; });
    rubato_test::delay(static_cast<unsigned>(i * 13 % 200));
    if (i % 2 == 0) {
      g.cancel();
      auto const how = outcome_of_get(g);
      ASSERT_TRUE(how == outcome::value || how == outcome::cancelled) << how;
    } else {
      g = {};
    }
    setter.wait();
    pool.wait_idle();
    ASSERT_LE(runs, 1);
  }
}

TEST_P(cancelling, racing_a_coroutine_that_sleeps_and_wakes) {
  std::size_t const rounds = scaled(1'000);
  for (std::size_t i = 0; i != rounds; ++i) {
    auto f = pool.spawn([i]() -> rubato::task<int> {
      co_await rubato::yield();
      co_await rubato::sleep_for(std::chrono::microseconds(i % 50));
      co_return 1;
    });
    rubato_test::delay(static_cast<unsigned>(i * 101 % 20'000));
    f.cancel();
    auto const how = outcome_of_get(f);
    ASSERT_TRUE(how == outcome::value || how == outcome::cancelled) << how;
  }
}

} // namespace
