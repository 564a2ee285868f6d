// Pools that did not end, or ended waits that they should not have, though nothing in them went on.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "async/outcome.hpp"
#include "pool/waiting.hpp"
#include "support/locks_when_it_goes.hpp"
#include "support/pools.hpp"
#include "support/values.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using async_test::outcome;
using async_test::outcome_of;
using async_test::outcome_of_get;

/// A pool that ends while f waits in it; f's result.
class regression_held_up : public on_workers {
protected:
  std::optional<rubato::pool> mortal{std::in_place, GetParam()};

  template<class F>
  auto result_of_one_that_waits(F f) {
    std::atomic<bool> waits{false};
    auto result = mortal->spawn([&] {
      waits = true;
      return f();
    });
    EXPECT_TRUE(pool_test::eventually([&] { return waits.load(); }));
    std::this_thread::sleep_for(1ms); // most often it sleeps then
    mortal.reset();
    return result.get();
  }
  static rubato::task<int> received(rubato::channel<int>& from) {
    co_return (co_await from.receive()).value_or(0);
  }
};
RUBATO_TEST_WITH_WORKERS(regression_held_up, counts_with_workers);

TEST_P(regression_held_up, by_a_promise_that_a_closure_returned) {
  rubato::promise<int> never;
  EXPECT_EQ(result_of_one_that_waits([&] {
              auto f = rubato::spawn([&] { return never.get_future(); });
              return outcome_of_get(f);
            }),
            outcome::cancelled);
}

TEST_P(regression_held_up, by_gatherings_of_a_promise_and_a_coroutine) {
  rubato::promise<int> never;
  rubato::channel<int> nothing_comes(1);
  auto const how = result_of_one_that_waits([&] {
    auto f = rubato::when_all(rubato::spawn(received(nothing_comes)), never.get_future());
    return outcome_of_get(f);
  });
  EXPECT_TRUE(how == outcome::cancelled || how == outcome::broken) << how;
}

TEST_P(regression_held_up, by_gatherings_of_a_promise_and_of_what_another_pool_makes) {
  rubato::promise<int> never;
  rubato::pool other(1);
  EXPECT_EQ(result_of_one_that_waits([&] {
              auto f = rubato::when_all(other.spawn([] {
                std::this_thread::sleep_for(120ms); // longer than all looks
                return 1;
              }),
                                        never.get_future());
              return outcome_of_get(f);
            }),
            outcome::cancelled);
}

TEST_P(regression_held_up, by_gatherings_inside_each_other) {
  rubato::promise<int> never;
  auto nested = rubato::when_all(never.get_future().share(), rubato::make_ready_future(1)).share();
  using type = decltype(nested);
  std::vector<type> kept{nested};
  auto again = rubato::when_all(nested, nested).then([](auto const&) { return 1; }).share();
  for (int i = 0; i != 40; ++i)
    again = rubato::when_any(again, again).then([](auto const&) { return 1; }).share();
  EXPECT_EQ(result_of_one_that_waits([&] { return outcome_of([&] { return again.get(); }); }),
            outcome::cancelled);
}

TEST_P(regression_held_up, by_closures_that_wait_for_each_other) {
  rubato::promise<rubato::shared_future<int>> own;
  auto whom = own.get_future();
  mortal.emplace(rubato::pool_options().workers(GetParam()).on_stall([](rubato::stall_report const&) {}));
  auto const circle = mortal
                          ->spawn([&] {
                            auto const self = whom.get();
                            return outcome_of([&] { return self.get(); }) == outcome::cancelled ? 1 : 0;
                          })
                          .share();
  own.set_value(circle);
  std::this_thread::sleep_for(1ms);
  mortal.reset();
  EXPECT_EQ(circle.get(), 1);
}

/// A guest that was in the pool at that moment, and leaves.
TEST_P(regression_held_up, by_a_coroutine_while_guests_come_and_go) {
  rubato::channel<int> nothing_comes(1);
  std::atomic<bool> over{false};
  rubato::pool& ends = *mortal;
  std::atomic<bool> waits{false};
  auto result = ends.spawn([&] {
    waits = true;
    return outcome_of([&] { return rubato::block_on(received(nothing_comes)); });
  });
  EXPECT_TRUE(pool_test::eventually([&] { return waits.load(); }));
  std::jthread guests([&] {
    while (!over) {
      ends.run([] { std::this_thread::sleep_for(3ms); });
      std::this_thread::sleep_for(5ms);
    }
  });
  ends.request_shutdown(rubato::drain);
  EXPECT_EQ(result.get(), outcome::broken);
  over = true;
}

/// It takes the seat of the worker that was called to break coroutines off.
TEST(regression_held_up_by, a_guest_that_came_in_between) {
  hang_guard const guard;
  std::atomic<int> started{0};
  std::atomic<bool> called{false}, inside{false};
  rubato::channel<int> nothing_comes(1);
  rubato::pool ends(rubato::pool_options().workers(1).on_start([&](unsigned) {
    if (++started != 2) return;
    called = true;
    EXPECT_TRUE(pool_test::eventually([&] { return inside.load(); }));
  }));
  auto coroutine =
      ends.spawn([&]() -> rubato::task<int> { co_return (co_await nothing_comes.receive()).value_or(0); });
  EXPECT_FALSE(coroutine.wait_for(1ms));
  auto closure = ends.spawn([&] { return outcome_of_get(coroutine); });
  std::jthread const guest([&] {
    EXPECT_TRUE(pool_test::eventually([&] { return called.load(); }));
    ends.run([&] {
      inside = true;
      std::this_thread::sleep_for(20ms);
    });
  });
  EXPECT_FALSE(closure.wait_for(10ms));
  ends.shutdown();
  inside = called = true; // if nobody had to be called
  EXPECT_EQ(closure.get(), outcome::broken);
}

TEST_P(regression_held_up, but_not_by_frames_that_wait_when_they_go) {
  struct waits_when_it_goes {
    rubato::pool* in;
    explicit waits_when_it_goes(rubato::pool& p)
        : in(&p) {}
    waits_when_it_goes(waits_when_it_goes const&) = delete;
    waits_when_it_goes& operator=(waits_when_it_goes const&) = delete;
    ~waits_when_it_goes() {
      rubato::promise<void> later;
      auto const f = later.get_future();
      in->enqueue([p = std::move(later)]() mutable { p.set_value(); });
      f.wait();
    }
  };
  rubato::channel<int> nothing_comes(1);
  rubato::pool& ends = *mortal;
  auto const with_a_local = [&]() -> rubato::task<int> {
    waits_when_it_goes const local(ends);
    co_return (co_await nothing_comes.receive()).value_or(0);
  };
  EXPECT_EQ(
      result_of_one_that_waits([&] { return outcome_of([&] { return rubato::block_on(with_a_local()); }); }),
      outcome::broken);
}

TEST_P(regression_held_up, scopes_wait_for_what_another_pool_makes) {
  rubato::pool other(1);
  std::atomic<bool> finished{false};
  result_of_one_that_waits([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn([&] {
        other.spawn([] { std::this_thread::sleep_for(150ms); }).get();
        finished = true;
      });
    });
    return 0;
  });
  EXPECT_TRUE(finished);
}

class regression_stops : public on_workers {};
RUBATO_TEST_WITH_WORKERS(regression_stops, counts_with_workers);

/// Whoever completes an operation holds the lock that its stop callback wants.
TEST_P(regression_stops, do_not_hold_up_who_keeps_the_promise) {
  for (int round = 0; round != 200; ++round) {
    std::mutex mutex;
    rubato::promise<int> p;
    std::stop_callback const on_stop(p.token(), [&] { std::lock_guard const held(mutex); });
    std::atomic<bool> begun{false};
    auto scoped = pool.spawn([&] {
      rubato::with_scope([&](rubato::scope& s) {
        s.spawn([&] {
          begun = true;
          return p.get_future();
        });
      });
    });
    EXPECT_TRUE(pool_test::eventually([&] { return begun.load(); }));
    std::jthread const canceller([&] { scoped.cancel(); });
    {
      std::lock_guard const held(mutex);
      std::this_thread::yield();
      p.set_value(1);
    }
    scoped.wait();
    pool.wait_idle();
  }
}

TEST_P(regression_stops, destroy_no_callable_inside_cancel) {
  std::mutex mutex;
  rubato::promise<int> never;
  auto f = pool.spawn([&never, l = locks_when_it_goes(mutex)] { return never.get_future(); });
  pool.wait_idle();
  {
    std::lock_guard const held(mutex);
    f.cancel();
  }
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
}

class regression_tasks : public on_workers {};
RUBATO_TEST_WITH_WORKERS(regression_tasks, all_counts);

TEST_P(regression_tasks, that_were_awaited_before_are_refused) {
  auto const once = []() -> rubato::task<int> { co_return 1; };
  auto const again = [&](auto how) {
    return pool.block_on([](auto f, auto make) -> rubato::task<bool> {
      rubato::task<int> t = make();
      static_cast<void>(co_await t);
      try {
        co_await f(std::move(t));
      } catch (std::logic_error const&) {
        co_return true;
      }
      co_return false;
    }(how, once));
  };
  EXPECT_TRUE(again([this](rubato::task<int> t) { return pool.spawn(std::move(t)); }));
  EXPECT_TRUE(again([](rubato::task<int> t) { return rubato::when_all(std::move(t)); }));
  EXPECT_TRUE(again([](rubato::task<int> t) { return rubato::with_deadline(std::move(t), 1h); }));
}

TEST_P(regression_tasks, and_functions_may_return_what_is_const) {
  auto const f = []() -> std::string const { return "const"; }; // NOLINT(readability-const-return-type)
  EXPECT_EQ(pool.spawn(f).get(), "const");
  EXPECT_EQ(pool.block_on([]() -> rubato::task<std::string const> { co_return "const"; }()), "const");
  EXPECT_EQ(pool.run([&] { return rubato::join(f, f); }).first, "const");
}

} // namespace
