#include "os/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>

namespace {

using namespace rubato;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

/// By how much the clock and steady_clock disagree about `span`: the least of several tries, since this
/// thread may lose its CPU between two readings.
double disagreement(nanoseconds span) {
  double least = 1;
  for (int i = 0; i < 20; ++i) {
    auto const from = steady_clock::now();
    auto const start = os::now();
    while (steady_clock::now() - from < span) {
    }
    auto const to = steady_clock::now();
    auto const ticks = os::now() - start;
    auto const true_ns = static_cast<double>(nanoseconds(to - from).count());
    least = std::min(least, std::abs(static_cast<double>(os::to_ns(ticks).count()) / true_ns - 1));
  }
  return least;
}

TEST(clock, never_goes_back_on_one_thread) {
  auto last = os::now();
  for (int i = 0; i < 100'000; ++i) {
    auto const next = os::now();
    EXPECT_GE(next - last, -1'000); // two CPUs may disagree a little
    last = next;
  }
}

TEST(clock, agrees_with_steady_clock) {
  EXPECT_LT(disagreement(100us), 0.05);
  EXPECT_LT(disagreement(5ms), 0.05);
}

TEST(clock, afirst_measurement_is_good_enough) { // and every other
  for (int i = 0; i < 50; ++i)
    EXPECT_NEAR(os::detail::measure_ns_per_tick() / os::detail::ns_per_tick(), 1, 0.05);
}

TEST(clock, there_and_back) {
  for (auto const d : {0ns, 1'000ns, 50'000ns, 1'000'000ns, nanoseconds(1h)})
    EXPECT_NEAR(static_cast<double>(os::to_ns(os::ticks_from(d)).count()), static_cast<double>(d.count()),
                static_cast<double>(d.count()) * 1e-9 + 100);
  EXPECT_EQ(os::ticks_from(-1ms), -os::ticks_from(1ms));
  EXPECT_LT(os::to_ns(-1'000'000), 0ns);
}

TEST(clock, saturates) {
  using os::detail::saturate;
  EXPECT_EQ(saturate(1e19), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(saturate(-1e19), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(saturate(1e18), 1'000'000'000'000'000'000);
  EXPECT_GT(os::ticks_from(nanoseconds::max()), os::ticks_from(nanoseconds(24h)));
  EXPECT_LT(os::ticks_from(nanoseconds::min()), os::ticks_from(-nanoseconds(24h)));
  EXPECT_GT(os::to_ns(std::numeric_limits<os::ticks>::max()), nanoseconds(24h));
}

} // namespace
