// async_race() and async_hedge(): of functions, which run on threads, and of functions that return tasks.
#include <gtest/gtest.h>

#include "hedge/calls.hpp"
#include "support/hang_guard.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::async_hedge;
using rubato::async_race;
using rubato::cancelled;
using rubato::race_options;
using rubato::race_report;
using rubato::task;
using outcome = race_report::outcome;

namespace {

template<class F>
void for_both(F const& test) {
  {
    SCOPED_TRACE("async_race");
    test(async_race);
  }
  {
    SCOPED_TRACE("async_hedge");
    test(async_hedge);
  }
}

/// As many coroutines as are awaited, each suspended until all have come.
class crowd {
  rubato::async_latch all_;

public:
  explicit crowd(std::size_t n)
      : all_(n) {}
  task<void> meet() {
    all_.count_down();
    co_await all_.wait();
  }
};

class hedged_coroutines : public on_workers {};
RUBATO_TEST_WITH_WORKERS(hedged_coroutines, all_counts);

TEST_P(hedged_coroutines, run_functions_with_arguments_elsewhere) {
  for_both([&](auto const& call) {
    auto const all = std::make_shared<rendezvous>(4);
    auto const f = [all](std::stop_token, int a, std::string const& b) {
      EXPECT_TRUE(all->meet());
      return a + static_cast<int>(b.size());
    };
    EXPECT_EQ(pool.block_on(call(unpinned(4), f, 40, "ab")), 42);
    EXPECT_EQ(pool.block_on(call([](int a) { return a; }, 3)), 3);
    EXPECT_EQ(pool.block_on(call(pool, [](int a) { return a; }, 3)), 3);
    pool.block_on(call([] {}));
    static_assert(std::is_same_v<decltype(call([] {})), task<void>>);
  });
}
TEST_P(hedged_coroutines, run_mutually_waiting_ones_on_one_worker) {
  for_both([&](auto const& call) {
    auto const all = std::make_shared<crowd>(8);
    auto const f = [all](int a) -> task<int> {
      co_await all->meet();
      co_return a;
    };
    EXPECT_EQ(pool.block_on(call(unpinned(8), f, 5)), 5);
    EXPECT_TRUE(pool.wait_idle());
  });
}
TEST_P(hedged_coroutines, return_results_of_every_kind) {
  static int there = 0;
  for_both([&](auto const& call) {
    auto const owned = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(1); };
    auto const nothing = []() -> task<void> { co_return; };
    auto const referred = []() -> task<int&> { co_return there; };
    EXPECT_EQ(*pool.block_on(call(owned)), 1);
    pool.block_on(call(nothing));
    EXPECT_EQ(&pool.block_on(call(referred)), &there);
    EXPECT_EQ(*pool.block_on(call([] { return std::make_unique<int>(2); })), 2);
    EXPECT_EQ(&pool.block_on(call([]() -> int& { return there; })), &there);
  });
}
TEST_P(hedged_coroutines, throw_if_all_copies_throw) {
  for_both([&](auto const& call) {
    auto const next = std::make_shared<std::atomic<int>>(0);
    auto const all = std::make_shared<crowd>(3);
    auto const f = [=]() -> task<int> {
      co_await all->meet();
      ++*next;
      throw std::runtime_error("each");
    };
    EXPECT_THROW(static_cast<void>(pool.block_on(call(unpinned(3), f))), std::runtime_error);
    EXPECT_EQ(*next, 3);
    EXPECT_THROW(static_cast<void>(pool.block_on(call([]() -> int { throw std::runtime_error("each"); }))),
                 std::runtime_error);
    EXPECT_THROW(static_cast<void>(pool.block_on(call(race_options().runners(0), [] {}))),
                 std::invalid_argument);
  });
}
TEST_P(hedged_coroutines, stop_losers_that_are_suspended) {
  for_both([&](auto const& call) {
    auto const next = std::make_shared<std::atomic<int>>(0);
    auto const ended = std::make_shared<arrivals>();
    auto const all = std::make_shared<crowd>(3);
    race_report report;
    auto const f = [=]() -> task<int> {
      int const mine = next->fetch_add(1);
      co_await all->meet();
      if (mine == 1) co_return 1;
      try {
        co_await rubato::sleep_for(1h);
      } catch (cancelled const&) {
        ended->arrive();
        throw;
      }
      co_return 2;
    };
    EXPECT_EQ(pool.block_on(call(unpinned(3).report(&report), f)), 1);
    if (std::is_same_v<decltype(call), decltype(async_race) const&>) {
      EXPECT_EQ(ended->count(), 2U);
    }
    if (GetParam() != 0) {
      EXPECT_TRUE(ended->wait_for(2));
    }
    EXPECT_TRUE(pool.wait_idle()); // drives a pool without workers
    EXPECT_EQ(ended->count(), 2U);
    ASSERT_TRUE(report.winner.has_value());
    EXPECT_FALSE(report.copies.at(*report.winner).pinned);
  });
}
// Copies that tell that they have begun, and end when they are stopped.
auto coroutine_until_stopped(std::shared_ptr<arrivals> const& begun) {
  return [begun]() -> task<int> {
    begun->arrive();
    co_await rubato::sleep_for(1h);
    co_return 1;
  };
}
auto function_until_stopped(std::shared_ptr<arrivals> const& begun) {
  return [begun](std::stop_token stop) {
    begun->arrive();
    EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
    return 1;
  };
}

TEST_P(hedged_coroutines, end_with_the_task_that_awaits_them) {
  for_both([&](auto const& call) {
    for (bool const on_threads : {false, true}) {
      auto const begun = std::make_shared<arrivals>();
      auto const as_coroutine = coroutine_until_stopped(begun);
      auto const on_thread = function_until_stopped(begun);
      auto outer = [&]() -> task<int> {
        if (on_threads) co_return co_await call(unpinned(2), on_thread);
        co_return co_await call(unpinned(2), as_coroutine);
      };
      auto f = pool.spawn(outer());
      std::thread stopper([&] {
        EXPECT_TRUE(begun->wait_for(2));
        f.cancel();
      });
      EXPECT_THROW(static_cast<void>(f.get()), cancelled);
      stopper.join();
      EXPECT_TRUE(pool.wait_idle());
    }
  });
}
TEST_P(hedged_coroutines, end_at_their_deadline) {
  for_both([&](auto const& call) {
    auto const f = []() -> task<int> {
      co_await rubato::sleep_for(1h);
      co_return 1;
    };
    EXPECT_THROW(static_cast<void>(
                     pool.block_on(call(unpinned(2).deadline(std::chrono::steady_clock::now() + 3ms), f))),
                 cancelled);
    EXPECT_TRUE(pool.wait_idle());
  });
}
TEST_P(hedged_coroutines, do_not_begin_after_a_stop_or_a_deadline) {
  std::stop_source stopped;
  stopped.request_stop();
  for_both([&](auto const& call) {
    auto const calls = std::make_shared<std::atomic<int>>(0);
    auto const as_coroutine = [calls]() -> task<int> { co_return ++*calls; };
    auto const on_thread = [calls] { return ++*calls; };
    race_report report;
    auto const past = unpinned(2).deadline(std::chrono::steady_clock::now()).report(&report);
    auto const off = unpinned(2).stop(stopped.get_token()).report(&report);
    for (race_options const& options : {past, off}) {
      EXPECT_THROW(static_cast<void>(pool.block_on(call(options, as_coroutine))), cancelled);
      EXPECT_THROW(static_cast<void>(pool.block_on(call(options, on_thread))), cancelled);
      ASSERT_EQ(report.copies.size(), 2U);
      for (auto const& c : report.copies) EXPECT_EQ(c.what, outcome::withdrawn);
    }
    EXPECT_EQ(*calls, 0);
    EXPECT_TRUE(pool.wait_idle(20s)); // no timer is armed
  });
}
TEST_P(hedged_coroutines, end_with_the_token_in_their_options) {
  for_both([&](auto const& call) {
    for (bool const on_threads : {false, true}) {
      std::stop_source source;
      auto const begun = std::make_shared<arrivals>();
      auto const as_coroutine = coroutine_until_stopped(begun);
      auto const on_thread = function_until_stopped(begun);
      auto const options = unpinned(2).stop(source.get_token());
      std::thread stopper([&] {
        EXPECT_TRUE(begun->wait_for(2));
        source.request_stop();
      });
      if (on_threads) {
        EXPECT_THROW(static_cast<void>(pool.block_on(call(options, on_thread))), cancelled);
      } else {
        EXPECT_THROW(static_cast<void>(pool.block_on(call(options, as_coroutine))), cancelled);
      }
      stopper.join();
      EXPECT_TRUE(pool.wait_idle());
    }
  });
}
TEST_P(hedged_coroutines, pin_functions_and_no_coroutines) {
  auto const cpus = rubato_test::own_cpus();
  auto const n = static_cast<unsigned>(cpus.size());
  for_both([&](auto const& call) {
    race_report report;
    auto const options = race_options().runners(n).report(&report);
    auto const all = std::make_shared<rendezvous>(n);
    auto const on_thread = [all] { return all->meet() && rubato_test::own_cpus().size() == 1; };
    EXPECT_TRUE(pool.block_on(call(options, on_thread)));
    for (auto const& c : report.copies) EXPECT_TRUE(c.pinned && !c.on_caller);
    auto const as_coroutine = [cpus]() -> task<bool> { co_return rubato_test::own_cpus() == cpus; };
    EXPECT_TRUE(pool.block_on(call(options, as_coroutine)));
    for (auto const& c : report.copies) EXPECT_FALSE(c.pinned);
  });
}
/// The callable, its arguments and the results of the losers are gone when the call has ended.
TEST_P(hedged_coroutines, regression_a_race_leaves_nothing_behind) {
  auto const p = std::make_shared<int>(1);
  auto const unchanged = [&p](char const* what) { EXPECT_EQ(p.use_count(), 1) << what; };
  for (std::size_t round = 0; round != scaled(200); ++round) {
    pool.block_on(async_race(pool, unpinned(2), [p] { return *p; }));
    unchanged("a closure");
    pool.block_on(async_race(pool, unpinned(2), [](std::shared_ptr<int> const& q) { return *q; }, p));
    unchanged("an argument");
    EXPECT_NE(pool.block_on(async_race(pool, unpinned(2), [](auto const& q) { return q; }, p)), nullptr);
    unchanged("a result");
    pool.block_on(async_race(pool, unpinned(2), [p]() -> task<int> { co_return *p; }));
    unchanged("a coroutine");
  }
}

TEST_P(hedged_coroutines, are_awaited_by_the_thousand) {
  for_both([&](auto const& call) {
    auto const f = [](int a) -> task<int> {
      co_await rubato::yield();
      co_return a;
    };
    std::vector<rubato::future<int>> all;
    int const n = static_cast<int>(scaled(1'000));
    for (int i = 0; i != n; ++i) all.push_back(pool.spawn(call(unpinned(3), f, i)));
    for (int i = 0; i != n; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].get(), i);
    EXPECT_TRUE(pool.wait_idle());
  });
}
TEST_P(hedged_coroutines, hold_no_worker_while_copies_block) {
  if (GetParam() == 0) return;
  milestone over;
  auto const begun = std::make_shared<arrivals>();
  std::vector<rubato::future<bool>> all;
  for (unsigned i = 0; i != GetParam(); ++i)
    all.push_back(pool.spawn(async_race(unpinned(2), [&over, begun] {
      begun->arrive();
      return over.wait();
    })));
  EXPECT_TRUE(begun->wait_for(2 * GetParam()));
  EXPECT_EQ(pool.spawn([] { return 1; }).get(), 1);
  over.reach();
  for (auto& f : all) EXPECT_TRUE(f.get());
}

TEST(hedged_coroutines_at_the_end_of_a_pool, end_in_any_way) {
  for (std::size_t i = 0; i != scaled(100); ++i)
    for_both([&](auto const& call) {
      hang_guard const guard;
      auto const frames = std::make_shared<int>(0);
      {
        rubato::pool pool(rubato_test::with_workers(static_cast<unsigned>(i % 3)));
        auto const f = [frames](int n) -> task<int> {
          co_await rubato::sleep_for(n == 0 ? 0ns : 1h);
          co_return n;
        };
        for (int n = 0; n != 4; ++n) pool.spawn(call(unpinned(2), f, n % 2)).detach();
        for (int n = 0; n != 2; ++n)
          pool.spawn(call(unpinned(2),
                          [frames](std::stop_token stop) {
                            while (!stop.stop_requested()) std::this_thread::yield();
                          }))
              .detach();
        if (i % 2 == 0)
          pool.shutdown(rubato::discard);
        else
          pool.shutdown(rubato::drain);
      }
      EXPECT_EQ(frames.use_count(), 1);
    });
}

TEST(async_hedge_ends, regression_a_copy_dropped_early_has_not_run) {
  hang_guard const guard;
  static rubato::hedge_policy policy(0.5, 1.0, 10);
  auto const calls_before = policy.stats().calls; // of an earlier repetition
  std::atomic<bool> over{false};                  // both outlive the pools
  milestone busy;
  rubato::pool pool(1), other(1);
  auto worker = pool.spawn([&] {
    busy.reach();
    EXPECT_TRUE(rubato_test::computing_until([&] { return over.load(); }));
  });
  EXPECT_TRUE(busy.wait());
  race_report report;
  auto call = other.spawn([&]() -> task<int> {
    auto const f = []() -> task<int> { co_return 1; };
    co_return co_await async_hedge(pool, unpinned(1).policy(policy).report(&report), f);
  });
  std::this_thread::sleep_for(
      rubato_test::until_others_sleep); // the copy is queued by then, or refused later
  pool.request_shutdown(rubato::discard);
  over = true;
  try { // another thread may have run the copy in the meantime
    EXPECT_EQ(call.get(), 1);
  } catch (cancelled const&) {
    for (auto const& c : report.copies) EXPECT_EQ(c.what, outcome::withdrawn);
    EXPECT_EQ(policy.stats().calls, calls_before);
  }
}

TEST(async_hedge_ends, regression_closed_pools_cancel_their_calls) {
  hang_guard const guard;
  rubato::pool pool(2), other(1);
  auto const as_coroutine = []() -> task<int> { co_return 1; };
  auto const on_thread = [] { return 1; };
  pool.shutdown();
  for_both([&](auto const& call) {
    for (int i = 0; i != 5; ++i) {
      EXPECT_THROW(static_cast<void>(other.block_on(call(pool, unpinned(3), as_coroutine))), cancelled);
      EXPECT_THROW(static_cast<void>(other.block_on(call(pool, unpinned(3), on_thread))), cancelled);
    }
    EXPECT_EQ(pool.pending(), 0U);
  });
  pool.resize(1);
  for_both([&](auto const& call) {
    EXPECT_EQ(other.block_on(call(pool, unpinned(3), as_coroutine)), 1);
    EXPECT_EQ(other.block_on(call(pool, unpinned(3), on_thread)), 1);
  });
}

} // namespace
