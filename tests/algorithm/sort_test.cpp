// sort: what std::ranges::sort makes of the same elements, whatever their number, their arrangement and their
// type.
#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <rubato/algorithm/order.hpp>
#include <rubato/pool.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#if defined(RUBATO_HAS_RAPIDCHECK)
#include <rapidcheck.h>
#endif

using namespace rubato_test;

namespace {

class sorts : public on_workers {
protected:
  /// Under all three orders that integers take different ways for.
  void expect_sorted(std::vector<int> const& input, std::string_view name) {
    auto expected = input;
    std::ranges::sort(expected);
    auto v = input;
    ASSERT_EQ(rubato::sort(pool, v), v.end());
    ASSERT_EQ(v, expected) << name << ", " << input.size();
    v = input;
    ASSERT_EQ(rubato::sort(pool, std::in_place, v), v.end());
    ASSERT_EQ(v, expected) << name << ", " << input.size() << ", in place";
    v = input;
    rubato::sort(pool, v.begin(), v.end(), std::greater<>());
    ASSERT_TRUE(std::ranges::equal(v, expected | std::views::reverse)) << name << ", " << input.size();
    v = input;
    rubato::sort(pool, v, [](int a, int b) { return a > b; });
    ASSERT_TRUE(std::ranges::equal(v, expected | std::views::reverse)) << name << ", " << input.size();
  }
};
RUBATO_TEST_WITH_WORKERS(sorts, all_counts);

TEST_P(sorts, every_short_range) {
  for (std::size_t n = 0; n <= 1'100; n += under_tsan ? 7 : 1) {
    expect_sorted(input_of(shape::random, n, n), "random");
    expect_sorted(input_of(shape::ten_values, n, n), "ten values");
  }
}

TEST_P(sorts, ranges_around_powers_of_two) {
  std::size_t const most = sized(std::size_t{1} << (GetParam() <= 2 ? 20U : 17U));
  for (std::size_t power = 2'048; power <= most; power *= 2)
    for (std::size_t const n : {power - 1, power, power + 1})
      expect_sorted(input_of(shape::random, n, n), "random");
}

TEST_P(sorts, elements_in_any_arrangement) {
  for (shape const s : all_shapes)
    for (std::size_t const n : {50U, 1'000U, 3'000U, 70'000U, 200'000U})
      expect_sorted(input_of(s, sized(n)), name_of(s));
}

TEST_P(sorts, by_a_projection) {
  struct record {
    int key;
    std::size_t place;
  };
  auto const keys = input_of(shape::random, sized(100'000));
  std::vector<record> v(keys.size());
  for (std::size_t i = 0; i != v.size(); ++i) v[i] = {keys[i] % 1'000, i};
  rubato::sort(pool, v, {}, &record::key);
  ASSERT_TRUE(std::ranges::is_sorted(v, {}, &record::key));
  std::vector<bool> seen(v.size());
  for (record const& r : v) {
    ASSERT_FALSE(seen[r.place]);
    ASSERT_EQ(r.key, keys[r.place] % 1'000);
    seen[r.place] = true;
  }
  rubato::sort(pool, v.begin(), v.end(), std::greater(), &record::key);
  EXPECT_TRUE(std::ranges::is_sorted(v, std::greater(), &record::key));
}

TEST_P(sorts, parts_of_a_range_and_nothing_else) {
  auto const input = input_of(shape::random, 10'000);
  auto v = input;
  rubato::sort(pool, v.begin() + 1'000, v.end() - 1'000);
  EXPECT_TRUE(std::is_sorted(v.begin() + 1'000, v.end() - 1'000));
  EXPECT_TRUE(std::equal(v.begin(), v.begin() + 1'000, input.begin()));
  EXPECT_TRUE(std::equal(v.end() - 1'000, v.end(), input.end() - 1'000));
}

TEST_P(sorts, to_the_same_arrangement_with_any_workers) {
  // Records of equal keys may end up in any order, but it is always the same one.
  struct record {
    int key;
    int place;
    bool operator==(record const&) const = default;
  };
  auto const keys = input_of(shape::ten_values, sized(150'000));
  std::vector<record> v(keys.size());
  for (std::size_t i = 0; i != v.size(); ++i) v[i] = {keys[i], static_cast<int>(i)};
  auto expected = v;
  rubato::pool alone(rubato::no_workers);
  rubato::sort(alone, expected, {}, &record::key);
  rubato::sort(pool, v, {}, &record::key);
  EXPECT_TRUE(v == expected);
}

TEST_P(sorts, what_is_in_reverse_order_but_for_one_element) {
  // Descending elements are reversed before it is clear that they all descend.
  struct record {
    int key;
    int place;
    bool operator==(record const&) const = default;
  };
  rubato::pool alone(rubato::no_workers);
  for (std::size_t const n : {50'000U, 50'001U}) {
    std::size_t const middle = n / 2, block = 8'192;
    for (std::size_t const place : {std::size_t{300}, block - 1, block, block + 33, 3 * block - 32,
                                    middle - 33, middle - 1, middle, middle + 1, middle + 32, n - 3 * block,
                                    n - 2 * block - 1, n - block - 1, n - block, n - 33, n - 1}) {
      std::vector<record> v(n);
      for (std::size_t i = 0; i != n; ++i) v[i] = {static_cast<int>((n - i) / 2), static_cast<int>(i)};
      v[place].key += 3;
      auto expected = v;
      rubato::sort(alone, expected, {}, &record::key);
      ASSERT_TRUE(std::ranges::is_sorted(expected, {}, &record::key)) << place;
      rubato::sort(pool, v, {}, &record::key);
      ASSERT_TRUE(v == expected) << place;
    }
  }
}

TEST_P(sorts, what_is_sorted_in_a_sort) {
  std::vector<std::vector<int>> v(500);
  for (std::size_t i = 0; i != v.size(); ++i) v[i] = input_of(shape::random, 3'000, i);
  auto const in_order = [](std::vector<int> const& a, std::vector<int> const& b) {
    auto copy_of_a = a;
    rubato::sort(copy_of_a);
    return copy_of_a.front() < *std::ranges::min_element(b);
  };
  v.resize(sized(100));
  rubato::sort(pool, v, in_order);
  EXPECT_TRUE(std::ranges::is_sorted(v, {}, [](auto const& x) { return *std::ranges::min_element(x); }));
}

TEST(sort_of_rvalues, returns_dangling) {
  static_assert(std::is_same_v<decltype(rubato::sort(std::vector<int>())), std::ranges::dangling>);
  static_assert(
      std::is_same_v<decltype(rubato::sort(std::declval<std::vector<int>&>())), std::vector<int>::iterator>);
  static_assert(std::is_same_v<decltype(rubato::sort(std::span<int>())), std::span<int>::iterator>);
  std::vector<int> v{3, 1, 2};
  EXPECT_EQ(*(rubato::sort(std::span(v)) - 1), 3);
}

#if defined(RUBATO_HAS_RAPIDCHECK)
TEST_P(sorts, as_std_does) {
  EXPECT_TRUE(rc::check([&](std::vector<int> v, bool wide) {
    if (wide) // long enough for several threads, with many equal elements
      for (std::size_t i = 0; v.size() < 5'000 && i < v.size(); ++i) v.push_back(v[i] % 100);
    auto expected = v;
    std::ranges::sort(expected);
    rubato::sort(pool, v);
    RC_ASSERT(v == expected);
  }));
}
#endif

} // namespace
