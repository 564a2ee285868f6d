// What users have registered with a stop token is not called inside set_value() or get(), where their caller
// may hold locks.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stop_token>
#include <utility>

#include "async/outcome.hpp"
#include "pool/waiting.hpp"
#include "support/pools.hpp"

namespace {

using namespace rubato_test;

/// Whatever stops it takes the lock in a callback.
class regression_stop_callbacks : public on_workers {
protected:
  std::mutex mutex;
  std::atomic<bool> registered{false}, called{false};

  /// Waits until it is stopped.
  auto loser() {
    return [this](std::stop_token stop) {
      std::stop_callback const on_stop(stop, [this] {
        std::lock_guard const held(mutex);
        called = true;
      });
      registered = true;
      EXPECT_TRUE(pool_test::eventually([&] { return called.load(); }));
      return 0;
    };
  }
  void await_registration() {
    EXPECT_TRUE(pool_test::eventually([this] { return registered.load(); }));
  }
};
RUBATO_TEST_WITH_WORKERS(regression_stop_callbacks, counts_with_workers);

TEST_P(regression_stop_callbacks, of_losers_of_when_any_are_not_called_inside_set_value) {
  rubato::promise<int> wins;
  auto first = rubato::when_any(wins.get_future(), pool.spawn(loser()));
  await_registration();
  {
    std::lock_guard const held(mutex);
    wins.set_value(1);
  }
  EXPECT_EQ(first.get().index, 0U);
  EXPECT_TRUE(pool_test::eventually([&] { return called.load(); }));
  pool.wait_idle();
}

TEST_P(regression_stop_callbacks, nor_in_a_task_that_sets_it) {
  rubato::promise<int> wins;
  auto first = rubato::when_any(wins.get_future(), pool.spawn(loser()));
  await_registration();
  pool.run([&] {
    std::lock_guard const held(mutex);
    wins.set_value(1);
  });
  EXPECT_EQ(first.get().index, 0U);
  pool.wait_idle();
}

TEST_P(regression_stop_callbacks, of_a_scope_are_not_called_where_a_member_fails) {
  rubato::promise<void> fails;

  auto scoped = pool.spawn([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn([&] { return fails.get_future(); });
      s.spawn([this](std::stop_token t) { static_cast<void>(loser()(std::move(t))); });
    });
  });
  await_registration();
  {
    std::lock_guard const held(mutex);
    fails.set_exception(async_test::failure(3));
  }
  EXPECT_EQ(async_test::failure_of([&] { scoped.get(); }), 3);
  EXPECT_TRUE(called);
}

TEST_P(regression_stop_callbacks, of_losers_are_not_called_inside_get_that_runs_the_winner) {
  rubato::pool other(1);
  auto const outcome = pool.run([&] {
    auto winner = rubato::spawn([this] {
                    await_registration();
                    return 1;
                  }).share();
    auto first = rubato::when_any(winner, other.spawn(loser()));
    std::lock_guard const held(mutex);
    return winner.get() + static_cast<int>(first.valid());
  });
  EXPECT_EQ(outcome, 2);
  other.wait_idle();
}

} // namespace
