// is_sorted: the answer of std::ranges::is_sorted.
#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <rubato/algorithm/order.hpp>
#include <rubato/pool.hpp>

#include <algorithm>
#include <cstddef>
#include <forward_list>
#include <functional>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <vector>

using namespace rubato_test;

namespace {

class is_sorted : public on_workers {};
RUBATO_TEST_WITH_WORKERS(is_sorted, all_counts);

TEST_P(is_sorted, of_any_arrangement) {
  for (shape const s : all_shapes)
    for (std::size_t const n : {0U, 1U, 2U, 100U, 4'095U, 4'096U, 4'097U, 100'000U}) {
      auto const v = input_of(s, sized(n));
      ASSERT_EQ(rubato::is_sorted(pool, v), std::ranges::is_sorted(v)) << name_of(s) << ", " << n;
      ASSERT_EQ(rubato::is_sorted(pool, v.begin(), v.end(), std::greater()),
                std::ranges::is_sorted(v, std::greater()))
          << name_of(s) << ", " << n;
    }
}

TEST_P(is_sorted, unless_two_neighbours_are_swapped_anywhere) {
  std::vector<int> v(10'000);
  std::iota(v.begin(), v.end(), 0);
  EXPECT_TRUE(rubato::is_sorted(pool, v));
  std::size_t const step = under_tsan ? 501 : 51;
  for (std::size_t i = 0; i + 1 < v.size(); i += i < 2'060 && !under_tsan ? 1 : step) {
    std::swap(v[i], v[i + 1]);
    ASSERT_FALSE(rubato::is_sorted(pool, v)) << i;
    std::swap(v[i], v[i + 1]);
  }
}

TEST_P(is_sorted, by_a_projection) {
  std::vector<std::pair<int, int>> v(10'000);
  for (int i = 0; auto& x : v) x = {-i, i / 3}, ++i;
  EXPECT_TRUE(rubato::is_sorted(pool, v, {}, &std::pair<int, int>::second));
  EXPECT_FALSE(rubato::is_sorted(pool, v, {}, &std::pair<int, int>::first));
}

TEST_P(is_sorted, of_ranges_without_random_access) {
  std::forward_list<int> const linked{1, 2, 2, 5};
  EXPECT_TRUE(rubato::is_sorted(pool, linked));
  EXPECT_FALSE(rubato::is_sorted(pool, linked, std::greater()));
  std::vector<bool> bits(10'000);
  bits.back() = true;
  EXPECT_TRUE(rubato::is_sorted(pool, bits));
  bits[4'000] = true;
  EXPECT_FALSE(rubato::is_sorted(pool, bits));
  EXPECT_TRUE(rubato::is_sorted(pool, std::views::iota(0, 10'000)));
}

TEST(is_sorted_alone, without_looking_far_behind_the_answer) {
  rubato::pool alone(rubato::no_workers); // other threads look at their blocks until they are told
  auto v = input_of(shape::sorted, 1'000'000);
  std::swap(v[10], v[11]);
  std::size_t calls = 0;
  EXPECT_FALSE(rubato::is_sorted(alone, v, [&calls](int a, int b) {
    ++calls;
    return a < b;
  }));
  EXPECT_LE(calls, 1'024U);
}

TEST_P(is_sorted, passing_on_what_the_comparator_throws) {
  std::vector<int> const v(100'000);
  auto const compare = [](int, int) -> bool { throw std::runtime_error("no"); };
  EXPECT_THROW(static_cast<void>(rubato::is_sorted(pool, v, compare)), std::runtime_error);
}

} // namespace
