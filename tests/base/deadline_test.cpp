// Durations and points in time of any unit, as the clock's own: exact where it can express them, else never.
#include <gtest/gtest.h>

#include <rubato/time.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>

namespace {

using clock = std::chrono::steady_clock;
using rubato::detail::deadline;
using rubato::detail::delay;

TEST(deadlines, regression_a_time_beyond_the_clock_is_never) {
  using hour = std::chrono::time_point<clock, std::chrono::hours>;
  EXPECT_EQ(deadline(hour::max()).at, clock::time_point::max());
  EXPECT_EQ(deadline(hour::min()).at, clock::time_point::min());
  EXPECT_EQ(deadline(hour(std::chrono::hours(5))).at, clock::time_point(std::chrono::hours(5)));
}

TEST(deadlines, regression_fractional_seconds_do_not_overflow) {
  using frames = std::chrono::duration<std::int64_t, std::ratio<1, 60>>;
  std::int64_t const century = std::int64_t{100} * 365 * 24 * 3600;
  EXPECT_EQ(delay(frames(60 * century)).in_clock, std::chrono::seconds(century));
  EXPECT_EQ(delay(frames(-60 * century)).in_clock, std::chrono::seconds(-century));
  EXPECT_EQ(delay(frames(1)).in_clock, std::chrono::nanoseconds(16'666'667)); // rounded up
  EXPECT_EQ(delay(frames(61)).in_clock, std::chrono::nanoseconds(1'016'666'667));
  EXPECT_EQ(delay(frames(-1)).in_clock, std::chrono::nanoseconds(-16'666'666));
}

TEST(deadlines, regression_a_duration_that_is_no_number_is_never) {
  using seconds = std::chrono::duration<double>;
  EXPECT_EQ(delay(seconds(std::numeric_limits<double>::quiet_NaN())).in_clock, clock::duration::max());
  EXPECT_EQ(delay(seconds(std::numeric_limits<double>::infinity())).in_clock, clock::duration::max());
  EXPECT_EQ(delay(seconds(-std::numeric_limits<double>::infinity())).in_clock, clock::duration::min());
  EXPECT_EQ(delay(seconds(0.25)).in_clock, std::chrono::milliseconds(250));
}

} // namespace
