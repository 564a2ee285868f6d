// stable_sort: sorted, equal elements in their order, whatever their number, arrangement and type.
#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "algorithm/lengths.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <rubato/algorithm/order.hpp>
#include <rubato/pool.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
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

struct record {
  int key;
  std::uint32_t place;
  bool operator==(record const&) const = default;
};

std::vector<record> records_of(std::vector<int> const& keys, int modulus) {
  std::vector<record> made(keys.size());
  for (std::size_t i = 0; i != keys.size(); ++i)
    made[i] = {modulus != 0 ? keys[i] % modulus : keys[i], static_cast<std::uint32_t>(i)};
  return made;
}

/// By an algorithm that is not stable.
void sort_by_key_and_place(std::vector<record>& v) {
  std::ranges::sort(v, {}, [](record const& r) { return std::pair(r.key, r.place); });
}

class stable_sorts : public on_workers {
protected:
  void expect_sorted(std::vector<record> const& input, std::string_view name) {
    auto expected = input;
    sort_by_key_and_place(expected);
    auto v = input;
    ASSERT_EQ(rubato::stable_sort(pool, v, {}, &record::key), v.end());
    ASSERT_TRUE(v == expected) << name << ", " << input.size();
  }
};
RUBATO_TEST_WITH_WORKERS(stable_sorts, all_counts);

TEST_P(stable_sorts, every_short_range_and_around_powers_of_two) {
  for (std::size_t const n : seam_lengths(1'100, GetParam() == 2 && !under_tsan ? 20 : 14)) {
    expect_sorted(records_of(input_of(shape::random, n, n), 0), "random");
    if (n <= 20'000) expect_sorted(records_of(input_of(shape::random, n, n), 13), "few values");
  }
}

TEST_P(stable_sorts, elements_in_any_arrangement) {
  for (shape const s : all_shapes)
    for (std::size_t const n : {50U, 1'000U, 3'000U, 70'000U, 200'000U})
      expect_sorted(records_of(input_of(s, sized(n)), 0), name_of(s));
}

TEST_P(stable_sorts, what_cannot_be_copied) {
  auto const keys = input_of(shape::ten_values, sized(30'000));
  std::vector<std::unique_ptr<record>> v;
  for (record const& r : records_of(keys, 0)) v.push_back(std::make_unique<record>(r));
  rubato::stable_sort(pool, v, {}, [](auto const& p) { return p->key; });
  auto expected = records_of(keys, 0);
  sort_by_key_and_place(expected);
  for (std::size_t i = 0; i != v.size(); ++i) ASSERT_EQ(*v[i], expected[i]);
}

TEST_P(stable_sorts, strings_in_a_deque_backwards) {
  auto const keys = input_of(shape::random, sized(20'000));
  std::deque<std::string> v;
  for (int const k : keys) v.push_back(std::to_string(k % 5'000));
  auto expected = v;
  std::ranges::sort(expected, std::ranges::greater());
  auto reversed = v | std::views::reverse;
  rubato::stable_sort(pool, reversed);
  EXPECT_TRUE(v == expected);
}

TEST_P(stable_sorts, elements_of_one_byte_and_of_a_kilobyte) {
  auto const keys = input_of(shape::random, sized(50'000));
  std::vector<signed char> bytes;
  for (int const k : keys) bytes.push_back(static_cast<signed char>(k));
  auto expected = bytes;
  std::ranges::sort(expected);
  rubato::stable_sort(pool, bytes);
  EXPECT_TRUE(bytes == expected);

  struct large {
    int key;
    int place;
    std::array<char, 1'016> rest;
  };
  std::vector<large> v(sized(3'000));
  for (std::size_t i = 0; i != v.size(); ++i) v[i] = {keys[i] % 100, static_cast<int>(i), {}};
  rubato::stable_sort(pool, v, {}, &large::key);
  for (std::size_t i = 1; i < v.size(); ++i)
    ASSERT_TRUE(std::pair(v[i - 1].key, v[i - 1].place) < std::pair(v[i].key, v[i].place));
}

TEST(stable_sort_of_others, are_bits_and_rvalues) {
  std::vector<bool> bits{true, false, true, false, false};
  rubato::stable_sort(bits);
  EXPECT_EQ(bits, (std::vector<bool>{false, false, false, true, true}));
  static_assert(std::is_same_v<decltype(rubato::stable_sort(std::vector<int>())), std::ranges::dangling>);
  static_assert(std::is_same_v<decltype(rubato::stable_sort(std::span<int>())), std::span<int>::iterator>);
}

#if defined(RUBATO_HAS_RAPIDCHECK)
TEST_P(stable_sorts, as_std_does) {
  EXPECT_TRUE(rc::check([&](std::vector<int> keys, bool wide) {
    if (wide) // long enough for several threads
      for (std::size_t i = 0; keys.size() < 5'000 && i < keys.size(); ++i) keys.push_back(keys[i] / 3);
    auto v = records_of(keys, 50);
    auto expected = v;
    std::ranges::sort(expected, {}, [](record const& r) { return std::pair(-r.key, r.place); });
    rubato::stable_sort(pool, v.begin(), v.end(), std::greater(), &record::key);
    RC_ASSERT(v == expected);
  }));
}
#endif

} // namespace
