// The live policy of hedged calls: its threshold, its budget, many threads.
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <rubato/hedge_policy.hpp>
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>
#if defined(RUBATO_HAS_RAPIDCHECK)
#include <rapidcheck.h>
#endif

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::hedge_policy;

namespace {

class hedge_policy_on_workers : public on_workers {};
RUBATO_TEST_WITH_WORKERS(hedge_policy_on_workers, all_counts);

void record(hedge_policy& policy, int times, std::chrono::nanoseconds duration) {
  for (int i = 0; i != times; ++i) policy.record(duration);
}

/// What the sketch may make of a duration.
constexpr std::chrono::nanoseconds at_most(std::chrono::nanoseconds exact) { return exact + exact / 32; }

unsigned take_all(hedge_policy& policy) {
  unsigned taken = 0;
  while (policy.try_hedge()) ++taken;
  return taken;
}

std::string reason(double quantile, double budget) {
  try {
    hedge_policy const policy(quantile, budget);
  } catch (std::invalid_argument const& e) {
    return e.what();
  }
  return {};
}

TEST(hedge_policy, arguments_out_of_range_are_refused_with_advice) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (double const quantile : {0.0, 1.0, -0.5, 1.5, 95.0, nan, infinity, -infinity})
    EXPECT_NE(reason(quantile, 0.05).find("pass 0.95"), std::string::npos) << quantile;
  for (double const budget : {-0.01, 1.01, 5.0, nan, infinity, -infinity})
    EXPECT_NE(reason(0.95, budget).find("pass 0.05"), std::string::npos) << budget;
  EXPECT_EQ(reason(0.5, 0), "");
  EXPECT_EQ(reason(0.999, 1), "");
}

TEST(hedge_policy, has_no_threshold_before_enough_calls_are_known) {
  struct {
    double quantile;
    int enough; // 4 / (1 - quantile), at least 16, in full buffers of 32
  } const all[] = {{0.5, 32}, {0.95, 96}, {0.99, 416}};
  for (auto const& [quantile, enough] : all) {
    hedge_policy policy(quantile);
    record(policy, enough - 1, 1ms);
    EXPECT_FALSE(policy.threshold().has_value()) << quantile;
    record(policy, 1, 1ms);
    ASSERT_TRUE(policy.threshold().has_value()) << quantile;
    EXPECT_GE(*policy.threshold(), 1ms);
    EXPECT_LE(*policy.threshold(), at_most(1ms));
  }
}

TEST(hedge_policy, threshold_is_the_quantile_of_known_durations) {
  hedge_policy policy(0.9);
  for (int i = 0; i != 3'200; ++i) policy.record((i * 37 % 100 + 1) * 1ms); // 1 to 100 ms
  // Recent samples weigh more, but each hundred holds every duration once.
  EXPECT_GE(*policy.threshold(), 89ms);
  EXPECT_LE(*policy.threshold(), 95ms);
}

TEST(hedge_policy, threshold_follows_up_quickly_and_down_slowly) {
  hedge_policy policy;
  record(policy, 10'000, 1ms);
  EXPECT_LE(*policy.threshold(), 1100us);
  record(policy, 500, 10ms);
  EXPECT_GE(*policy.threshold(), 10ms);
  record(policy, 8'000, 1ms);
  EXPECT_LE(*policy.threshold(), 1100us);
}

TEST(hedge_policy, takes_durations_of_any_size) {
  hedge_policy policy;
  record(policy, 100, -5ns);
  EXPECT_EQ(*policy.threshold(), 0ns);
  record(policy, 1'000, std::chrono::nanoseconds::max());
  EXPECT_EQ(*policy.threshold(), std::chrono::nanoseconds((std::int64_t{1} << 40) - 1));
}

TEST(hedge_policy, starts_without_a_token) {
  hedge_policy policy;
  EXPECT_FALSE(policy.try_hedge());
  EXPECT_EQ(policy.stats().refused, 1U);
}

TEST(hedge_policy, permits_what_the_budget_says_and_no_more) {
  hedge_policy policy;
  unsigned taken = 0;
  for (unsigned n = 1; n <= 20'000; ++n) {
    policy.record(1ms);
    taken += take_all(policy);
    ASSERT_EQ(taken, n / 20) << n; // 5%
  }
  EXPECT_EQ(policy.stats().calls, 20'000U);
  EXPECT_EQ(policy.stats().hedges, taken);
}

TEST(hedge_policy, saves_no_more_tokens_than_the_burst) {
  hedge_policy policy;
  record(policy, 100'000, 1ms);
  EXPECT_EQ(take_all(policy), 50U);
  record(policy, 1'000, 1ms);
  EXPECT_EQ(take_all(policy), 50U);
  hedge_policy other(0.95, 0.5, 3);
  record(other, 100, 1ms);
  EXPECT_EQ(take_all(other), 3U);
}

TEST(hedge_policy, a_budget_or_a_burst_of_zero_permits_nothing) {
  hedge_policy policy(0.95, 0);
  hedge_policy other(0.95, 1, 0);
  record(policy, 10'000, 1ms);
  record(other, 10'000, 1ms);
  EXPECT_EQ(take_all(policy), 0U);
  EXPECT_EQ(take_all(other), 0U);
}

TEST(hedge_policy, a_withdrawn_copy_leaves_its_token) {
  hedge_policy policy;
  record(policy, 20, 1ms);
  for (int i = 0; i != 100; ++i) {
    EXPECT_TRUE(policy.try_hedge());
    EXPECT_FALSE(policy.try_hedge());
    policy.withdraw_hedge();
  }
  EXPECT_EQ(policy.stats().hedges, 0U);
  EXPECT_EQ(policy.stats().refused, 100U);
}

TEST(hedge_policy, a_token_returned_to_a_full_bucket_is_lost) {
  hedge_policy policy;
  record(policy, 1'000, 1ms);
  EXPECT_TRUE(policy.try_hedge());
  record(policy, 1'000, 1ms);
  policy.withdraw_hedge();
  EXPECT_EQ(take_all(policy), 50U);
}

#if defined(RUBATO_HAS_RAPIDCHECK)
TEST(hedge_policy, no_stretch_of_calls_exceeds_budget_and_burst) {
  EXPECT_TRUE(rc::check([] {
    double const budget = *rc::gen::inRange(0, 101) / 100.0;
    auto const burst = *rc::gen::inRange(0U, 20U);
    auto const steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 12));
    hedge_policy policy(0.95, budget, burst);
    struct moment {
      int calls, copies;
    };
    std::vector<moment> all{{0, 0}};
    for (int const step : steps) {
      moment now = all.back();
      if (step < 8) {
        record(policy, 1 << step, 1ms);
        now.calls += 1 << step;
      } else if (policy.try_hedge()) {
        ++now.copies;
      }
      all.push_back(now);
    }
    for (auto const& last : all) {
      RC_ASSERT(last.copies <= budget * last.calls + 1e-9);
      for (auto const& first : all)
        RC_ASSERT(last.copies - first.copies <= budget * std::abs(last.calls - first.calls) + burst + 1e-9);
    }
  }));
}
#endif

TEST(hedge_policy, threads_never_get_more_than_the_budget_together) {
  hedge_policy policy(0.95, 0.05, 50);
  std::size_t const rounds = scaled(100'000);
  std::atomic<std::uint64_t> taken{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t != 8; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i != rounds; ++i) {
        policy.record((t + 1) * 1ms);
        if (!policy.try_hedge()) continue;
        if (i % 3 == 0)
          policy.withdraw_hedge();
        else
          taken.fetch_add(1);
      }
    });
  }
  threads.clear();
  auto const stats = policy.stats();
  // A record is left out if all buffers are taken by threads that were preempted.
  EXPECT_LE(stats.calls, 8 * rounds);
  EXPECT_EQ(stats.hedges, taken.load());
  EXPECT_LE(static_cast<double>(stats.hedges), 0.05 * static_cast<double>(stats.calls));
  EXPECT_GT(stats.hedges, 0U);
  EXPECT_GE(policy.threshold().value_or(1ms), 1ms);
  EXPECT_LE(policy.threshold().value_or(1ms), at_most(8ms));
}

TEST_P(hedge_policy_on_workers, workers_share_a_policy) {
  hedge_policy policy;
  int const calls = static_cast<int>(scaled(20'000));
  rubato::for_index(pool, 0, calls, [&](int i) {
    policy.record(i % 10 == 0 ? 10ms : 1ms);
    static_cast<void>(policy.try_hedge());
  });
  auto const stats = policy.stats();
  EXPECT_LE(stats.calls, static_cast<std::uint64_t>(calls));
  EXPECT_LE(static_cast<double>(stats.hedges), 0.05 * static_cast<double>(stats.calls));
  record(policy, 5'000, 2ms); // one thread alone fills its own buffer
  EXPECT_GE(*policy.threshold(), 2ms);
}

} // namespace
