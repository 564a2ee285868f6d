// A pool that ends while closures wait in it: for what nobody will bring, they give up; for all else they
// wait on.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "async/outcome.hpp"
#include "pool/waiting.hpp"
#include "support/pools.hpp"
#include "support/values.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using async_test::outcome;
using async_test::outcome_of;
using async_test::outcome_of_get;

/// The pool that ends is a second one; if it has no workers a thread drives it.
class held_up : public on_workers {
protected:
  std::optional<rubato::pool> mortal{std::in_place, GetParam()};

  enum class by { drain, discard, request, destructor };
  static constexpr by all_ways[] = {by::drain, by::discard, by::request, by::destructor};

  void end(by how) {
    if (how == by::drain) mortal->shutdown();
    if (how == by::discard) mortal->shutdown(rubato::discard);
    if (how == by::request) mortal->request_shutdown(rubato::drain);
    if (how != by::request) mortal.reset();
  }

  /// Runs f in the pool that ends, which begins to end once f has said that it is about to wait; then f's
  /// result.
  template<class F>
  auto result_of_one_that_waits(by how, F f) {
    mortal.emplace(GetParam());
    std::atomic<bool> waits{false};
    auto result = mortal->spawn([&] {
      waits = true;
      return f();
    });
    std::jthread driver;
    if (GetParam() == 0) driver = std::jthread([&] { result.wait(); });
    EXPECT_TRUE(pool_test::eventually([&] { return waits.load(); }));
    std::this_thread::sleep_for(1ms); // most often it sleeps then; either way it has to end
    end(how);
    result.wait();
    if (driver.joinable()) driver.join();
    mortal.reset();
    return result.get();
  }
};
RUBATO_TEST_WITH_WORKERS(held_up, all_counts);

TEST_P(held_up, regression_a_wait_for_a_promise_that_nobody_keeps_is_given_up) {
  for (by const how : all_ways) {
    leak_check const none_left;
    rubato::promise<int> never;
    auto f = never.get_future();
    EXPECT_EQ(result_of_one_that_waits(how, [&] { return outcome_of_get(f); }), outcome::cancelled);
    EXPECT_TRUE(f.valid()); // nothing else has changed
    never.set_value(1);
    EXPECT_EQ(f.get(), 1);
  }
}

TEST_P(held_up, so_are_timed_waits_and_those_for_gatherings_of_promises) {
  rubato::promise<int> a, b, c;
  auto all = rubato::when_all(a.get_future(), b.get_future());
  auto any = rubato::when_any(std::move(all), c.get_future());
  EXPECT_EQ(result_of_one_that_waits(by::destructor, [&] { return outcome_of_get(any); }),
            outcome::cancelled);
  auto shared = rubato::promise<int>().get_future().share();
  rubato::promise<int> late;
  auto const f = late.get_future();
  EXPECT_FALSE(result_of_one_that_waits(by::drain, [&] { return f.wait_for(24h); }));
}

TEST_P(held_up, who_waits_for_one_that_gave_up_gets_what_that_makes_of_it) {
  rubato::promise<int> never;
  auto f = never.get_future();
  auto const inner = [&] { return outcome_of_get(f) == outcome::cancelled ? 5 : 0; };
  auto const outer = [&] {
    auto const [left, right] = rubato::join([&] { return rubato::spawn(inner).get(); }, [] { return 1; });
    return left + right;
  };
  EXPECT_EQ(result_of_one_that_waits(by::destructor, outer), 6);
}

TEST_P(held_up, coroutines_that_closures_wait_for_are_broken_off) {
  for (by const how : all_ways) {
    leak_check const none_left;
    rubato::channel<int> nothing_comes(1);
    auto const waits = [&]() -> rubato::task<int> {
      counted const local(1);
      auto const got = co_await nothing_comes.receive();
      co_return local.value + got.value_or(0);
    };
    auto const how_it_ended = result_of_one_that_waits(how, [&] {
      auto f = rubato::spawn(waits());
      return outcome_of_get(f);
    });
    // A discarding pool does not begin it.
    EXPECT_TRUE(how_it_ended == outcome::broken || how_it_ended == outcome::cancelled) << how_it_ended;
  }
}

TEST_P(held_up, so_are_those_that_it_blocks_on_and_those_that_wait_for_their_children) {
  rubato::channel<int> nothing_comes(1);
  auto const waits = [&]() -> rubato::task<int> { co_return (co_await nothing_comes.receive()).value_or(0); };
  auto const nested = [&]() -> rubato::task<int> {
    auto const [a, b] = co_await rubato::when_all(waits(), waits());
    co_return a + b;
  };
  EXPECT_EQ(result_of_one_that_waits(by::drain,
                                     [&] { return outcome_of([&] { return rubato::block_on(waits()); }); }),
            outcome::broken);
  auto const how = result_of_one_that_waits(
      by::drain, [&] { return outcome_of([&] { return rubato::block_on(nested()); }); });
  EXPECT_TRUE(how == outcome::broken || how == outcome::cancelled) << how;
}

TEST_P(held_up, scopes_stop_what_waits_for_promises_in_them) {
  rubato::promise<void> never;
  auto const in_a_scope = [&] {
    return outcome_of([&] {
      rubato::with_scope([&](rubato::scope& s) {
        s.spawn([&] { return never.get_future(); });
        s.wait();
      });
      return 0;
    });
  };
  auto const how = result_of_one_that_waits(by::destructor, in_a_scope);
  EXPECT_TRUE(how == outcome::value || how == outcome::cancelled) << how;
}

TEST_P(held_up, what_another_pool_makes_is_waited_for) {
  rubato::pool other(1);
  pool_test::gate open;
  std::atomic<bool> ended{false};
  std::jthread opener([&] {
    std::this_thread::sleep_for(150ms); // long enough for all that the end of the pool does
    open.open();
  });
  auto const waits = [&] {
    int const n = other.spawn([&] { return open.wait() ? 7 : 0; }).get();
    ended = true;
    return n;
  };
  EXPECT_EQ(result_of_one_that_waits(by::destructor, waits), 7);
  EXPECT_TRUE(ended);
}

TEST_P(held_up, as_long_as_somebody_runs_who_may_keep_the_promise) {
  if (GetParam() < 2) return; // there has to be somebody else
  mortal.emplace(GetParam());
  rubato::promise<int> kept_late;
  pool_test::gate open;
  auto keeper = mortal->spawn([&] {
    EXPECT_TRUE(open.wait());
    kept_late.set_value(3);
  });
  auto f = kept_late.get_future();
  auto waiter = mortal->spawn([&] { return f.get(); });
  std::jthread opener([&] {
    std::this_thread::sleep_for(150ms);
    open.open();
  });
  mortal.reset();
  EXPECT_EQ(waiter.get(), 3);
  keeper.get();
}

TEST_P(held_up, many_at_once_and_work_that_comes_of_it) {
  for (int round = 0; round != 3; ++round) {
    mortal.emplace(GetParam());
    std::vector<rubato::promise<int>> promises(40);
    std::vector<rubato::future<int>> results;
    for (auto& p : promises)
      results.push_back(mortal->spawn([f = p.get_future()]() mutable {
        if (outcome_of_get(f) != outcome::cancelled) return 0;
        return rubato::spawn([] { return 2; }).get(); // draining runs it
      }));
    if (GetParam() == 0) {
      std::atomic<bool> begun{false};
      std::jthread const driver([&] {
        mortal->run([&] {
          begun = true;
          for (auto& r : results) r.wait();
        });
      });
      EXPECT_TRUE(pool_test::eventually([&] { return begun.load(); }));
      mortal->shutdown();
    }
    mortal.reset();
    for (auto& r : results) EXPECT_EQ(r.get(), 2);
  }
}

TEST(held_up, regression_with_every_spare_asleep) {
  hang_guard const guard;
  rubato::promise<int> never;
  auto const f = never.get_future().share();
  rubato::channel<int> nothing_comes(1);
  std::optional<rubato::pool> mortal(std::in_place, rubato::pool_options().workers(1).spares(0));
  auto first = mortal->spawn([&] {
    auto inner = rubato::spawn(
        [&]() -> rubato::task<int> { co_return (co_await nothing_comes.receive()).value_or(0); });
    return outcome_of_get(inner);
  });
  std::this_thread::sleep_for(5ms);
  mortal.reset();
  EXPECT_EQ(first.get(), outcome::broken);
}

} // namespace
