// A loop that waits with a limit, and again after each time-out, ends when its task is stopped.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

// Each waits for what never comes.

rubato::task<void> awaits_event(std::atomic<int>& turns) {
  rubato::event e;
  for (;;) {
    bool const set = co_await e.wait_for(1ms);
    if (set) co_return;
    ++turns;
  }
}
rubato::task<void> awaits_message(std::atomic<int>& turns) {
  rubato::channel<int> c(1);
  for (;;) {
    auto const got = co_await rubato::with_deadline(c.receive(), 1ms);
    if (got) co_return;
    ++turns;
  }
}
rubato::task<void> awaits_task(std::atomic<int>& turns) {
  rubato::async_latch never(1);
  auto const work = [&]() -> rubato::task<void> { co_await never.wait(); };
  for (;;) {
    bool const done = co_await rubato::with_deadline(work(), 1ms);
    if (done) co_return;
    ++turns;
  }
}
void waits_for_future(std::atomic<int>& turns) {
  rubato::promise<int> never;
  rubato::future<int> const f = never.get_future();
  while (!f.wait_for(1ms)) ++turns;
}

class stopped_loops : public on_workers {
protected:
  /// Starts a loop by each of these, in a pool of its own, and ends that when they have turned.
  template<class End>
  void expect_ended(End end, bool drains) {
    auto const check = [&](auto loop, bool ends) {
      if (!ends) return;
      rubato::pool own{rubato_test::with_workers(GetParam())};
      std::atomic<int> turns{0};
      auto f = own.spawn([&] { return loop(turns); });
      ASSERT_TRUE(eventually([&] { return turns > 1; }));
      end(own, f); // would not return
      EXPECT_TRUE(f.ready());
      EXPECT_THROW(f.get(), std::exception);
    };
    check(awaits_event, true);
    check(awaits_message, true);
    check(awaits_task, true);
    check(waits_for_future, !drains); // a mere drain is no stop of it
  }
};
RUBATO_TEST_WITH_WORKERS(stopped_loops, counts_with_workers);

TEST_P(stopped_loops, regression_end_when_the_pool_drains) {
  expect_ended([](rubato::pool& p, auto&) { p.shutdown(rubato::drain); }, true);
}
TEST_P(stopped_loops, regression_end_when_the_pool_discards) {
  expect_ended([](rubato::pool& p, auto&) { p.shutdown(rubato::discard); }, false);
}
TEST_P(stopped_loops, regression_end_when_they_are_cancelled) {
  expect_ended(
      [](rubato::pool& p, auto& f) {
        f.cancel();
        p.shutdown(rubato::drain);
      },
      false);
}

class stopped_waits : public on_workers {
protected:
  /// In a coroutine that has been stopped.
  template<class F>
  void in_stopped_task(F f) {
    std::stop_source stop;
    rubato::async_latch begun(1), go(1);
    auto const work = [&]() -> rubato::task<void> {
      co_await rubato::shielded([](rubato::async_latch& b, rubato::async_latch& g) -> rubato::task<void> {
        b.count_down();
        co_await g.wait();
      }(begun, go));
      co_await f();
    };
    auto job = pool.spawn(work()).stop_with(stop.get_token());
    auto const stopping = [&]() -> rubato::task<void> {
      co_await begun.wait();
      stop.request_stop();
      go.count_down();
    };
    pool.block_on(stopping());
    job.get();
  }
};
RUBATO_TEST_WITH_WORKERS(stopped_waits, all_counts);

template<class A>
rubato::task<bool> throws_cancelled(A awaitable) {
  try {
    static_cast<void>(co_await std::move(awaitable));
  } catch (rubato::cancelled const&) {
    co_return true;
  }
  co_return false;
}

TEST_P(stopped_waits, regression_with_a_limit_throw_cancelled) {
  in_stopped_task([&]() -> rubato::task<void> {
    rubato::event e;
    rubato::channel<int> c(1);
    rubato::promise<int> p;
    auto const seven = []() -> rubato::task<int> { co_return 7; };
    bool all = co_await throws_cancelled(e.wait_for(1h));
    bool one = co_await throws_cancelled(rubato::with_deadline(c.receive(), 1h));
    all = all && one;
    one = co_await throws_cancelled(rubato::with_deadline(p.get_future(), 1h));
    all = all && one;
    one = co_await throws_cancelled(rubato::with_deadline(seven(), 1h)); // it has not begun
    all = all && one;
    one = co_await throws_cancelled(rubato::with_deadline(rubato::sleep_for(1h), 1ms));
    EXPECT_TRUE(all && one);
  });
}

TEST_P(stopped_waits, regression_with_a_limit_yield_what_is_ready) {
  in_stopped_task([&]() -> rubato::task<void> {
    rubato::event e;
    e.set();
    bool const set = co_await e.wait_for(1h);
    EXPECT_TRUE(set);
    rubato::channel<int> c(1);
    static_cast<void>(c.try_send(5));
    auto const received = co_await rubato::with_deadline(c.receive(), 1h);
    EXPECT_TRUE(received && *received == 5);
    auto const value = co_await rubato::with_deadline(rubato::make_ready_future(6), 1h);
    EXPECT_EQ(value.value_or(0), 6);
  });
}

TEST_P(stopped_waits, regression_of_a_closure_throw_unless_ready) {
  std::stop_source stop;
  std::atomic<int> outcomes{0};
  auto job = pool.spawn([&](std::stop_token const& mine) {
                   stop.request_stop();
                   while (!mine.stop_requested()) std::this_thread::yield(); // until stop_with() listens
                   rubato::promise<int> p;
                   rubato::future<int> const late = p.get_future();
                   rubato::future<int> const ready = rubato::make_ready_future(1);
                   if (ready.wait_for(1h)) ++outcomes;
                   try {
                     static_cast<void>(late.wait_for(1h));
                   } catch (rubato::cancelled const&) {
                     ++outcomes;
                   }
                 })
                 .stop_with(stop.get_token());
  job.get();
  EXPECT_EQ(outcomes, 2);
}

/// A task that has never waited is not among those that a shutdown stops: it asks its pool at its first wait.
class first_waits : public on_workers {};
RUBATO_TEST_WITH_WORKERS(first_waits, counts_with_workers);

TEST_P(first_waits, regression_with_a_limit_throw_if_the_pool_ends) {
  auto const check = [](auto how) {
    rubato::pool own{rubato_test::with_workers(GetParam())};
    rubato::event never;
    std::atomic<bool> begun{false}, ending{false};
    auto const computes = [&] {
      begun = true;
      while (!ending) std::this_thread::yield();
    };
    auto const awaits_event_once = [&]() -> rubato::task<bool> {
      computes();
      co_return co_await never.wait_for(1h);
    };
    auto f = own.spawn(awaits_event_once);
    ASSERT_TRUE(eventually([&] { return begun.load(); }));
    own.request_shutdown(how);
    ending = true;
    EXPECT_THROW(static_cast<void>(f.get()), rubato::cancelled);
  };
  check(rubato::drain);
  check(rubato::discard);
}

/// Whether the drain ends the wait or its alarm first is left to chance.
TEST_P(first_waits, regression_that_a_drain_meets_yield_nothing) {
  for (std::size_t round = 0; round != scaled(100) && !HasFailure(); ++round) {
    rubato::pool own{rubato_test::with_workers(GetParam())};
    std::atomic<bool> begun{false};
    auto const sleeps = [&]() -> rubato::task<void> {
      begun = true;
      co_await rubato::sleep_for(1h);
    };
    auto const waits = [&]() -> rubato::task<bool> {
      bool const slept = co_await rubato::with_deadline(sleeps(), 1h);
      co_return slept;
    };
    auto f = own.spawn(waits());
    ASSERT_TRUE(eventually([&] { return begun.load(); }));
    own.shutdown(rubato::drain);
    EXPECT_NO_THROW(EXPECT_FALSE(f.get()));
  }
}

/// A shutdown tells the tasks one after another. Here the sibling, which it may tell first, holds it up until
/// the limited wait has ended.
TEST_P(first_waits, regression_that_a_drain_tells_late_yield_nothing) {
  rubato::pool own{rubato_test::with_workers(GetParam())};
  std::atomic<bool> is_listed{false}, begun{false}, ending{false}, ended{false};
  auto const sibling = [&](std::stop_token stop) -> rubato::task<void> {
    std::stop_callback const holds_up(stop, [&] {
      ending = true;
      static_cast<void>(eventually([&] { return ended.load(); }));
    });
    is_listed = true;
    co_await rubato::sleep_for(1h);
  };
  auto const sleeps = [&]() -> rubato::task<void> {
    begun = true;
    while (!ending) std::this_thread::yield();
    co_await rubato::sleep_for(1h);
  };
  auto const waits = [&]() -> rubato::task<std::optional<bool>> {
    co_await rubato::sleep_for(1ms); // the pool lists its tasks in the order of their first waits
    own.spawn(sibling).detach();
    while (!is_listed) co_await rubato::yield();
    std::optional<bool> slept;
    try {
      slept = co_await rubato::with_deadline(sleeps(), 1h);
    } catch (rubato::cancelled const&) { // NOLINT(bugprone-empty-catch): an empty result tells
    }
    ended = true;
    co_return slept;
  };
  auto f = own.spawn(waits());
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  own.shutdown(rubato::drain);
  EXPECT_EQ(f.get(), std::optional<bool>(false));
}

/// As that of spawn().detach(), and of a coroutine.
TEST_P(first_waits, regression_of_enqueued_closures_end_silently) {
  std::atomic<int> begun{0};
  std::atomic<int> reported{0};
  {
    rubato::pool own{
        rubato_test::with_workers(GetParam()).on_unhandled([&](std::exception_ptr const&) { ++reported; })};
    own.enqueue([&] {
      ++begun;
      rubato::block_on(rubato::sleep_for(1h));
    });
    ASSERT_TRUE(eventually([&] { return begun == 1; }));
  }
  EXPECT_EQ(reported, 0);
}

} // namespace
