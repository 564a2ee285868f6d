// Bounds of loops that cannot be meant, and how assertions say so.
#include <gtest/gtest.h>

#include <rubato/algorithm.hpp>
#include <rubato/detail/base/assert.hpp>

#include <vector>

namespace {

TEST(assertions, tell_message_condition_and_values) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      rubato::detail::fail_assertion(rubato::detail::assertion{"the parts do not make up a whole",
                                                               "a + b == c", "a, f(1, 2), c", "x.cpp", 12},
                                     1, -2L, '\3'),
      "rubato: the parts do not make up a whole \\[a \\+ b == c is false; a = 1; f\\(1, 2\\) = -2; c = 3; "
      "x.cpp:12\\]");
}

TEST(assertions, evaluate_nothing_when_they_are_off) {
  int evaluated = 0;
  RUBATO_ASSERT(++evaluated == 1, "counted once");
  EXPECT_EQ(evaluated, RUBATO_ASSERTIONS);
}

TEST(loop_bounds, regression_negative_beside_unsigned_is_told) {
  if (RUBATO_ASSERTIONS == 0) GTEST_SKIP() << "assertions are off in this build";
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  std::vector<int> const v(10);
  EXPECT_DEATH(rubato::for_index(-1, v.size(), [](auto) {}),
               "negative bound beside an unsigned one.*bound = -1");
  EXPECT_DEATH(rubato::for_range(0U, -3, [](auto, auto) {}),
               "negative bound beside an unsigned one.*bound = -3");
}

TEST(loop_bounds, of_different_types_are_fine_without_negatives) {
  std::vector<int> v(10);
  rubato::for_index(0, v.size(), [&](auto i) { v[i] = 1; });
  rubato::for_index(-5, 5, [&](int i) { v[static_cast<unsigned>(i + 5)] += 1; });
  EXPECT_EQ(v, std::vector<int>(10, 2));
}

} // namespace
