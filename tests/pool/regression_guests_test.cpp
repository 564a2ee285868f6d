// How many threads may be in a pool from outside at the same time.
#include <rubato/per_worker.hpp>
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <cstddef>

#include "support/hang_guard.hpp"
#include "support/scale.hpp"

namespace {

/// Enters `a` and `b` in turn, each within the other: every time as another guest.
unsigned enter(rubato::pool& a, rubato::pool& b, unsigned depth, rubato::per_worker<unsigned>& numbers) {
  if (depth == 0) return 0;
  rubato::membership const in_a = a.join_as_member();
  EXPECT_LT(*rubato::current_worker(), a.slots());
  numbers.local() = 1;
  rubato::membership const in_b = b.join_as_member();
  return 1 + enter(a, b, depth - 1, numbers);
}

TEST(regression_guests, more_than_1024_are_in_one_pool) {
  rubato_test::hang_guard const guard;
  constexpr unsigned many = 3'000;
  rubato::pool a(1), b(1);
  rubato::per_worker<unsigned> numbers(a);
  EXPECT_EQ(enter(a, b, many, numbers), many);
  EXPECT_EQ(numbers.combine([](unsigned x, unsigned y) { return x + y; }), many);
  EXPECT_TRUE(a.wait_idle());
  EXPECT_GE(a.slots(), 65'535u);
}

} // namespace
