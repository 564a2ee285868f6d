// The quantile sketch beside exact quantiles of the same samples.
#include "hedge/latency_sketch.hpp"

#include <gtest/gtest.h>
#if defined(RUBATO_HAS_RAPIDCHECK)
#include <rapidcheck.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

using rubato::detail::latency_buckets;
using rubato::detail::latency_sketch;

constexpr double never_ages = 1e18;

std::int64_t clamped(std::int64_t sample) {
  return std::clamp<std::int64_t>(sample, 0, latency_buckets::largest);
}

/// The smallest sample above which lies at most 1 - quantile of the weight.
std::int64_t exact(std::vector<std::int64_t> const& samples, double quantile, double half_life = never_ages) {
  std::map<std::int64_t, double, std::greater<>> weights;
  double total = 0;
  for (std::size_t i = 0; i != samples.size(); ++i) {
    double const weight =
        std::exp2((static_cast<double>(i) - static_cast<double>(samples.size())) / half_life);
    weights[clamped(samples[i])] += weight;
    total += weight;
  }
  double above = 0;
  std::int64_t last = 0;
  for (auto const& [sample, weight] : weights) {
    last = sample;
    if (above + weight > (1 - quantile) * total) break;
    above += weight;
  }
  return last;
}

std::int64_t sketched(std::vector<std::int64_t> const& samples, double quantile,
                      double half_life = never_ages) {
  latency_sketch sketch(half_life);
  for (auto const sample : samples) sketch.add(latency_buckets::of(sample));
  return sketch.quantile(quantile);
}

TEST(latency_buckets, follow_each_other_without_a_gap) {
  EXPECT_EQ(latency_buckets::of(0), 0);
  for (unsigned b = 0; b != latency_buckets::buckets; ++b) {
    ASSERT_EQ(latency_buckets::of(latency_buckets::upper(b)), b);
    if (b + 1 != latency_buckets::buckets) {
      ASSERT_EQ(latency_buckets::of(latency_buckets::upper(b) + 1), b + 1);
    }
  }
}

TEST(latency_buckets, are_at_most_a_thirty_second_wide) {
  for (unsigned b = 1; b != latency_buckets::buckets; ++b) {
    std::int64_t const lowest = latency_buckets::upper(b - 1) + 1;
    ASSERT_LE(latency_buckets::upper(b) - lowest, lowest / 32) << b;
  }
}

TEST(latency_buckets, take_every_number) {
  EXPECT_EQ(latency_buckets::of(-1), 0);
  EXPECT_EQ(latency_buckets::of(INT64_MIN), 0);
  EXPECT_EQ(latency_buckets::of(INT64_MAX), latency_buckets::buckets - 1);
}

TEST(latency_sketch, without_samples_is_zero) { EXPECT_EQ(latency_sketch(100).quantile(0.95), 0); }

TEST(latency_sketch, is_exact_or_up_to_a_thirty_second_above) {
  std::mt19937_64 random(7);
  std::map<std::string, std::function<double()>> const distributions{
      {"constant", [] { return 1.3e6; }},
      {"uniform", [&] { return std::uniform_real_distribution(0.0, 1e7)(random); }},
      {"exponential", [&] { return std::exponential_distribution(1e-6)(random); }},
      {"lognormal", [&] { return std::lognormal_distribution(13.0, 2.0)(random); }},
      {"pareto", [&] { return 1e5 / std::pow(std::uniform_real_distribution(1e-9, 1.0)(random), 1 / 1.1); }},
      {"stalls", [&] {
         bool const stalls = std::bernoulli_distribution(0.05)(random);
         return 1.3e6 + (stalls ? std::uniform_real_distribution(5e6, 2e7)(random) : 0);
       }}};
  for (auto const& [name, draw] : distributions) {
    std::vector<std::int64_t> samples(20'000);
    for (auto& sample : samples) sample = static_cast<std::int64_t>(std::min(draw(), 1e12));
    for (double const quantile : {0.01, 0.5, 0.9, 0.95, 0.99, 0.999}) {
      std::int64_t const expected = exact(samples, quantile);
      std::int64_t const found = sketched(samples, quantile);
      EXPECT_GE(found, expected) << name << " " << quantile;
      EXPECT_LE(found, expected + expected / 32) << name << " " << quantile;
    }
  }
}

TEST(latency_sketch, forgets_by_its_half_life_for_any_sample_count) {
  // 20,000 samples are 200 half-lives: the weights have been scaled down by then.
  std::mt19937_64 random(11);
  std::vector<std::int64_t> samples(20'000);
  constexpr double half_life = 100;
  for (std::size_t i = 0; i != samples.size(); ++i)
    samples[i] =
        std::uniform_int_distribution<std::int64_t>(1'000, 2'000)(random) * static_cast<std::int64_t>(i);
  for (std::size_t const n : {std::size_t{150}, std::size_t{3'000}, samples.size()}) {
    std::vector<std::int64_t> const first(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(n));
    for (double const quantile : {0.3, 0.5, 0.95}) {
      std::int64_t const found = sketched(first, quantile, half_life);
      // The sums are rounded in another order.
      EXPECT_GE(found, exact(first, quantile - 1e-9, half_life));
      std::int64_t const most = exact(first, quantile + 1e-9, half_life);
      EXPECT_LE(found, most + most / 32);
    }
  }
}

TEST(latency_sketch, loses_what_is_too_old_to_decide_anything) {
  latency_sketch sketch(10);
  for (int i = 0; i != 100; ++i) sketch.add(latency_buckets::of(1'000'000'000));
  for (int i = 0; i != 3'000; ++i) sketch.add(latency_buckets::of(1'000));
  EXPECT_LT(sketch.quantile(1), 1'100);
}

#if defined(RUBATO_HAS_RAPIDCHECK)
TEST(latency_sketch, is_right_for_all_samples) {
  EXPECT_TRUE(rc::check([](std::vector<std::int64_t> const& samples) {
    RC_PRE(!samples.empty());
    double const quantile = *rc::gen::inRange(1, 1'000) / 1'000.0;
    std::int64_t const expected = exact(samples, quantile);
    std::int64_t const found = sketched(samples, quantile);
    RC_ASSERT(found >= expected);
    RC_ASSERT(found <= expected + expected / 32);
  }));
}
#endif

} // namespace
