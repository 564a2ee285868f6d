// Copies that begin late: hedge_after() and policy().
#include <gtest/gtest.h>

#include "hedge/calls.hpp"
#include "support/hang_guard.hpp"
#include "support/pools.hpp"
#include "support/priority_log.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::race_options;
using rubato::race_report;
using outcome = race_report::outcome;

namespace {

class delayed_copies : public on_workers {};
RUBATO_TEST_WITH_WORKERS(delayed_copies, all_counts);

TEST_P(delayed_copies, do_not_begin_if_the_first_is_quick) {
  for_both([&](auto const& call) {
    auto const calls = std::make_shared<std::atomic<int>>(0);
    race_report report;
    for (int i = 0; i != 20; ++i)
      EXPECT_EQ(call(pool, unpinned(3).hedge_after(1h).report(&report), [calls] { return ++*calls; }), i + 1);
    EXPECT_EQ(report.copies.size(), 3U);
    EXPECT_EQ(report.winner, 0U);
    EXPECT_EQ(report.copies[1].what, outcome::withdrawn);
    EXPECT_TRUE(pool.wait_idle(20s)); // no timer is armed
  });
}
TEST_P(delayed_copies, begin_one_after_the_other) {
  for_both([&](auto const& call) {
    auto const all = std::make_shared<rendezvous>(3);
    race_report report;
    EXPECT_TRUE(call(pool, unpinned(3).hedge_after(2ms).report(&report), [all] { return all->meet(); }));
    ASSERT_EQ(report.copies.size(), 3U);
    EXPECT_GE(report.copies[1].began, report.copies[0].began + 2ms);
    EXPECT_GE(report.copies[2].began, report.copies[0].began + 4ms);
  });
}
TEST_P(delayed_copies, do_not_begin_after_a_failure) {
  for_both([&](auto const& call) {
    auto const calls = std::make_shared<std::atomic<int>>(0);
    EXPECT_THROW(call(pool, unpinned(2).hedge_after(1h),
                      [calls] {
                        ++*calls;
                        throw std::runtime_error("at once");
                      }),
                 std::runtime_error);
    EXPECT_EQ(*calls, 1);
  });
}
TEST_P(delayed_copies, race_with_the_end_of_the_first) {
  for_both([&](auto const& call) {
    for (std::size_t i = 0; i != scaled(300); ++i) {
      auto const until = std::chrono::microseconds(i % 100);
      auto const f = [until, i]() -> std::size_t {
        auto const end = std::chrono::steady_clock::now() + until;
        while (std::chrono::steady_clock::now() < end) {
        }
        if (i % 3 == 0) throw std::runtime_error("now and then");
        return i;
      };
      try {
        EXPECT_EQ(call(pool, unpinned(3).hedge_after(50us), f), i);
        EXPECT_NE(i % 3, 0U);
      } catch (std::runtime_error const&) {
        EXPECT_EQ(i % 3, 0U);
      }
    }
    EXPECT_TRUE(pool.wait_idle(20s));
  });
}
TEST_P(delayed_copies, end_with_a_deadline_in_between) {
  for_both([&](auto const& call) {
    auto const begun = std::make_shared<std::atomic<int>>(0);
    EXPECT_THROW(call(pool, unpinned(2).hedge_after(1h).deadline(std::chrono::steady_clock::now() + 3ms),
                      [begun](std::stop_token stop) {
                        ++*begun;
                        EXPECT_TRUE(rubato_test::eventually([&] { return stop.stop_requested(); }));
                      }),
                 rubato::cancelled);
    EXPECT_LE(*begun, 1); // the deadline may come before the first
    EXPECT_TRUE(pool.wait_idle(20s));
  });
}
TEST_P(delayed_copies, begin_at_last_when_all_workers_are_busy) {
  busy_workers const busy(pool, GetParam());
  for_both([&](auto const& call) { // of low priority: relief runs them, because the workers block
    auto const all = std::make_shared<rendezvous>(2);
    EXPECT_TRUE(call(pool, unpinned(2).hedge_after(1ns), [all] { return all->meet(); }));
  });
}
TEST_P(delayed_copies, regression_of_the_longest_delay_never_begin) {
  for_both([&](auto const& call) {
    race_report report;
    call(pool, unpinned(2).hedge_after(std::chrono::nanoseconds::max()).report(&report),
         [] { std::this_thread::sleep_for(5ms); });
    ASSERT_EQ(report.copies.size(), 2U);
    EXPECT_EQ(report.copies[1].what, outcome::withdrawn);
    EXPECT_TRUE(pool.wait_idle(20s)); // no timer is armed
  });
}
TEST_P(delayed_copies, of_coroutines_begin_late_too) {
  auto const calls = std::make_shared<std::atomic<int>>(0);
  auto const f = [calls]() -> rubato::task<int> {
    if (++*calls == 1) co_await rubato::sleep_for(1h);
    co_return 1;
  };
  EXPECT_EQ(pool.block_on(rubato::async_race(unpinned(2).hedge_after(2ms), f)), 1);
  EXPECT_EQ(*calls, 2);
  *calls = 0;
  EXPECT_EQ(pool.block_on(rubato::async_hedge(unpinned(2).hedge_after(2ms), f)), 1);
  EXPECT_TRUE(pool.wait_idle());
}

/// Counts the low tasks that are queued in a pool whose workers are held.
bool one_low_task_is_queued(rubato::pool const& pool) {
  return rubato_test::eventually([&] { return pool.stats().of(rubato::priority::low).queued == 1; });
}

/// call(pool, options, f): the second copy comes to a busy pool, and begins after what was queued later.
template<class Call>
void expect_second_copy_to_be_low(Call call) {
  hang_guard const guard;
  rubato_test::task_log log;
  milestone second_begun;
  race_report report;
  // The first copy gets the only spare: no thread is left but the worker.
  rubato::pool pool(rubato::pool_options().workers(1).spares(1));
  {
    rubato_test::held_workers held(pool);
    std::thread caller([&] {
      auto const first = std::make_shared<std::atomic<bool>>(true);
      call(pool, unpinned(2).hedge_after(1ns).report(&report), [&, first] {
        if (first->exchange(false)) {
          EXPECT_TRUE(second_begun.wait());
        } else {
          log.add("copy");
          second_begun.reach();
        }
      });
    });
    EXPECT_TRUE(one_low_task_is_queued(pool));
    for (int i = 0; i != 5; ++i) pool.enqueue([&] { log.add("normal"); });
    held.open();
    caller.join();
  }
  EXPECT_TRUE(pool.wait_idle(20s));
  EXPECT_EQ(log.size(), 6U);
  EXPECT_EQ(log.before_last("normal", "copy"), 5U);
  EXPECT_EQ(pool.stats().of(rubato::priority::low).executed, 1U);
  ASSERT_EQ(report.copies.size(), 2U);
  EXPECT_TRUE(report.copies[1].queued);
}

TEST(busy_pool_copies, of_a_hedge_begin_when_nothing_else_is_ready) {
  expect_second_copy_to_be_low(rubato::hedge);
}
TEST(busy_pool_copies, regression_of_an_awaited_function_come_last) {
  rubato::pool other(1);
  expect_second_copy_to_be_low([&](rubato::pool& pool, race_options const& options, auto const& f) {
    other.block_on(rubato::async_hedge(pool, options, f));
  });
  expect_second_copy_to_be_low([&](rubato::pool& pool, race_options const& options, auto const& f) {
    other.block_on(rubato::async_race(pool, options, f));
  });
}
TEST(busy_pool_copies, of_a_race_are_queued_as_low) {
  hang_guard const guard;
  rubato::pool pool(rubato::pool_options().workers(2).spares(0));
  race_report report;
  rubato_test::held_workers held(pool);
  rendezvous both(2);
  std::thread opener([&] {
    EXPECT_TRUE(one_low_task_is_queued(pool));
    held.open();
  });
  EXPECT_TRUE(rubato::race(pool, unpinned(2).hedge_after(1ns).report(&report), [&] { return both.meet(); }));
  opener.join();
  ASSERT_EQ(report.copies.size(), 2U);
  EXPECT_TRUE(report.copies[1].queued);
}
TEST(busy_pool_copies, of_a_race_on_the_only_worker_do_not_wait) {
  hang_guard const guard;
  rubato::pool pool(1);
  race_report report;
  EXPECT_TRUE(pool.spawn([&] {
                    rendezvous both(2);
                    return rubato::race(unpinned(2).hedge_after(1ns).report(&report),
                                        [&] { return both.meet(); });
                  })
                  .get());
  ASSERT_EQ(report.copies.size(), 2U);
  EXPECT_FALSE(report.copies[1].queued);
}
TEST(busy_pool_copies, regression_of_a_coroutine_are_and_stay_low) {
  hang_guard const guard;
  struct shared {
    std::atomic<bool> first{true};
    rubato_test::task_log log;
    rubato_test::gate held;
    rubato::async_latch second_ended{1};
  };
  auto const all = std::make_shared<shared>();
  rubato::pool pool(rubato::pool_options().workers(1).spares(0));
  auto const f = [&pool, all]() -> rubato::task<void> {
    if (all->first.exchange(false)) {
      EXPECT_TRUE(all->held.wait()); // the only worker
      co_await all->second_ended.wait();
      co_return;
    }
    all->log.add("begun");
    pool.enqueue([all] { all->log.add("normal"); });
    co_await rubato::yield();
    all->log.add("resumed");
    all->second_ended.count_down();
  };
  auto call = pool.spawn(rubato::async_race(unpinned(2).hedge_after(1ns), f));
  EXPECT_TRUE(one_low_task_is_queued(pool));
  for (int i = 0; i != 5; ++i) pool.enqueue([all] { all->log.add("normal"); });
  all->held.open();
  call.get();
  EXPECT_EQ(all->log.before_last("normal", "begun"), 5U);
  EXPECT_EQ(all->log.before_last("normal", "resumed"), 6U);
}

class copies_by_policy : public on_workers {};
RUBATO_TEST_WITH_WORKERS(copies_by_policy, all_counts);

TEST_P(copies_by_policy, begin_once_enough_calls_are_known) {
  for_both([&](auto const& call) {
    static rubato::hedge_policy policy(0.5, 1.0, 10); // not per run: it must outlive losers
    auto const quick = [] { return 1; };
    for (int i = 0; i != 200; ++i) EXPECT_EQ(call(pool, unpinned(2).policy(policy), quick), 1);
    EXPECT_TRUE(policy.threshold().has_value());
    EXPECT_GE(policy.stats().calls, 100U);
    // A call that takes for ever unless a second copy comes.
    auto const first = std::make_shared<std::atomic<bool>>(true);
    EXPECT_EQ(call(pool, unpinned(2).policy(policy),
                   [first](std::stop_token stop) {
                     if (!first->exchange(false)) return 2;
                     EXPECT_TRUE(rubato_test::eventually([&] { return stop.stop_requested(); }));
                     return 3;
                   }),
              2);
    EXPECT_GE(policy.stats().hedges, 1U);
    EXPECT_TRUE(pool.wait_idle());
  });
}
TEST_P(copies_by_policy, run_alone_without_a_threshold_or_a_budget) {
  for_both([&](auto const& call) {
    rubato::hedge_policy policy(0.5, 0.0);
    race_report report;
    EXPECT_EQ(call(pool, unpinned(4).policy(policy).report(&report), [] { return 1; }), 1);
    EXPECT_EQ(report.asked, 4U);
    EXPECT_EQ(report.copies.size(), 1U);
    for (int i = 0; i != 200; ++i) call(pool, unpinned(2).policy(policy), [] {});
    ASSERT_TRUE(policy.threshold().has_value());
    auto const calls = std::make_shared<std::atomic<int>>(0);
    auto const wait = *policy.threshold() + 3ms;
    call(pool, unpinned(2).policy(policy), [=] {
      ++*calls;
      std::this_thread::sleep_for(wait);
    });
    EXPECT_EQ(*calls, 1);
    EXPECT_EQ(policy.stats().hedges, 0U);
    EXPECT_TRUE(pool.wait_idle());
  });
}
TEST_P(copies_by_policy, regression_a_policy_may_end_with_the_race) {
  for (std::size_t i = 0; i != scaled(500); ++i) {
    rubato::hedge_policy policy(0.5, 1.0, 10); // without a threshold yet: hedge_after() serves
    rubato::race(pool, unpinned(2).hedge_after(1ns).policy(policy), [] { std::this_thread::yield(); });
    EXPECT_EQ(policy.stats().calls, 1U);
  }
}
TEST_P(copies_by_policy, regression_too_many_are_always_refused) {
  for_both([&](auto const& call) {
    static rubato::hedge_policy policy;
    EXPECT_THROW(call(pool, unpinned(5'000).policy(policy), [] {}), std::invalid_argument);
    EXPECT_THROW(call(pool, unpinned(0).policy(policy), [] {}), std::invalid_argument);
  });
}
TEST_P(copies_by_policy, of_coroutines_begin_after_enough_calls) {
  static rubato::hedge_policy policy(0.5, 1.0, 10);
  auto const quick = []() -> rubato::task<int> { co_return 1; };
  auto const next = std::make_shared<std::atomic<int>>(0);
  auto const slow = [next]() -> rubato::task<int> {
    if (next->fetch_add(1) == 0) co_await rubato::sleep_for(1h); // until its copy has won
    co_return 2;
  };
  auto const by_policy = unpinned(2).policy(policy);
  // Each thread keeps back some of the durations that it has recorded.
  for (int i = 0; i != 5'000 && (i < 200 || !policy.threshold()); ++i)
    EXPECT_EQ(pool.block_on(rubato::async_race(by_policy, quick)), 1);
  EXPECT_TRUE(policy.threshold().has_value());
  EXPECT_EQ(pool.block_on(rubato::async_race(by_policy, slow)), 2);
  *next = 0;
  EXPECT_EQ(pool.block_on(rubato::async_hedge(by_policy, slow)), 2);
  EXPECT_GE(policy.stats().hedges, 2U);
  EXPECT_TRUE(pool.wait_idle(20s));
}
TEST_P(copies_by_policy, stay_within_the_budget) {
  rubato::hedge_policy policy(0.5, 0.05, 1);
  std::uint64_t const n = scaled(400);
  for (std::uint64_t i = 0; i != n; ++i)
    rubato::hedge(pool, unpinned(2).policy(policy), [i] {
      if (i % 4 == 0) std::this_thread::sleep_for(100us);
    });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_LE(policy.stats().hedges, n / 20 + 1);
}

} // namespace
