// sort: elements of many types, from a bit to a kilobyte, and iterators that are no pointers.
#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "algorithm/proxies.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"

#include <rubato/algorithm/order.hpp>
#include <rubato/pool.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

using namespace rubato_test;

namespace {

class sort_elements : public on_workers {
protected:
  /// Of fewer elements than are sorted in parallel, of some more, and of so many that they need memory.
  static std::vector<std::size_t> sizes() { return {0, 1, 2, 5, 19, 33, 500, 3'000, sized(70'000)}; }
};
RUBATO_TEST_WITH_WORKERS(sort_elements, all_counts);

struct kilobyte {
  int key = 0;
  std::array<int, 255> rest{};
  explicit kilobyte(int k)
      : key(k) {
    rest.fill(k);
  }
  [[nodiscard]] bool is_whole() const {
    return std::ranges::all_of(rest, [this](int r) { return r == key; });
  }
};

TEST_P(sort_elements, of_a_kilobyte) {
  for (std::size_t const n : {20U, 500U, 3'000U}) {
    std::vector<kilobyte> v;
    for (int const k : input_of(shape::random, n)) v.emplace_back(k);
    rubato::sort(pool, v, std::ranges::greater(), &kilobyte::key);
    EXPECT_TRUE(std::ranges::is_sorted(v, std::ranges::greater(), &kilobyte::key));
    EXPECT_TRUE(std::ranges::all_of(v, &kilobyte::is_whole));
  }
}

TEST_P(sort_elements, that_only_move) {
  for (std::size_t const n : sizes()) {
    auto expected = input_of(shape::random, n);
    std::vector<move_only> v;
    for (int const k : expected) v.emplace_back(k);
    std::ranges::sort(expected);
    rubato::sort(pool, v, {}, &move_only::value);
    ASSERT_TRUE(std::ranges::equal(v, expected, {}, &move_only::value)) << n;
  }
}

TEST_P(sort_elements, that_are_over_aligned) {
  std::vector<over_aligned> v(5'000);
  auto const keys = input_of(shape::random, v.size());
  for (std::size_t i = 0; i != v.size(); ++i) v[i].value = keys[i];
  rubato::sort(pool, v, {}, &over_aligned::value);
  EXPECT_TRUE(std::ranges::is_sorted(v, {}, &over_aligned::value));
}

TEST_P(sort_elements, that_are_pairs_with_strings) {
  for (std::size_t const n : {20U, 500U, 10'000U}) {
    std::vector<std::pair<int, std::string>> v;
    for (int const k : input_of(shape::ten_values, n))
      v.emplace_back(k, std::to_string(k * 7 + int(v.size())));
    auto expected = v;
    std::ranges::sort(expected);
    rubato::sort(pool, v);
    ASSERT_TRUE(v == expected);
  }
}

TEST_P(sort_elements, of_a_deque) {
  for (std::size_t const n : sizes()) {
    auto expected = input_of(shape::random, n);
    std::deque<int> v(expected.begin(), expected.end());
    std::ranges::sort(expected);
    ASSERT_TRUE(rubato::sort(pool, v) == v.end());
    ASSERT_TRUE(std::ranges::equal(v, expected)) << n;
  }
}

TEST_P(sort_elements, from_the_back) {
  auto const input = input_of(shape::random, 5'000);
  auto v = input, expected = input;
  std::ranges::sort(expected, std::greater());
  rubato::sort(pool, v.rbegin(), v.rend());
  EXPECT_EQ(v, expected);
  v = input;
  rubato::sort(pool, v | std::views::reverse);
  EXPECT_EQ(v, expected);
}

TEST_P(sort_elements, that_are_bits) {
  for (std::size_t const n : sizes()) {
    auto const keys = input_of(shape::random, n);
    std::vector<bool> v(n);
    for (std::size_t i = 0; i != n; ++i) v[i] = keys[i] % 3 == 0;
    auto const ones = std::ranges::count(v, true);
    ASSERT_TRUE(rubato::sort(pool, v) == v.end());
    ASSERT_TRUE(std::ranges::is_sorted(v));
    ASSERT_EQ(std::ranges::count(v, true), ones);
    rubato::sort(pool, v, std::ranges::greater());
    ASSERT_TRUE(std::ranges::is_sorted(v, std::ranges::greater()));
    rubato::sort(pool, v.begin(), v.end(), {}, [](bool b) { return !b; });
    ASSERT_TRUE(std::ranges::is_sorted(v, std::ranges::greater()));
    ASSERT_EQ(std::ranges::count(v, true), ones);
  }
}

TEST_P(sort_elements, behind_proxies) {
  for (std::size_t const n : sizes()) {
    auto keys = input_of(shape::random, n);
    std::vector<std::string> names;
    for (int const k : keys) names.push_back(std::to_string(k));
    rubato::sort(pool, zip_iterator(keys, names), zip_iterator(keys, names) + std::ssize(keys), {},
                 [](auto const& both) { return both.first; });
    ASSERT_TRUE(std::ranges::is_sorted(keys)) << n;
    for (std::size_t i = 0; i != n; ++i) ASSERT_EQ(names[i], std::to_string(keys[i]));
  }
}

} // namespace
