// nth_element: the element that a sort would bring to the place, the smaller ones before it.
#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "algorithm/lengths.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <rubato/algorithm/order.hpp>
#include <rubato/pool.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#if defined(RUBATO_HAS_RAPIDCHECK)
#include <rapidcheck.h>
#endif

using namespace rubato_test;

namespace {

class selections : public on_workers {
protected:
  void expect_selected(std::vector<int> const& input, std::size_t place, std::string_view name) {
    auto v = input;
    auto const nth = v.begin() + static_cast<std::ptrdiff_t>(place);
    ASSERT_EQ(rubato::nth_element(pool, v, nth), v.end());
    auto expected = input;
    std::ranges::sort(expected);
    if (nth != v.end()) {
      ASSERT_EQ(*nth, expected[place]) << name << ", " << place << " of " << input.size();
      ASSERT_TRUE(std::all_of(v.begin(), nth, [&](int x) { return x <= *nth; }));
      ASSERT_TRUE(std::all_of(nth, v.end(), [&](int x) { return x >= *nth; }));
    }
    std::ranges::sort(v);
    ASSERT_EQ(v, expected) << "each element once";
  }
};
RUBATO_TEST_WITH_WORKERS(selections, all_counts);

TEST_P(selections, are_right_at_every_length) {
  for (std::size_t const n : seam_lengths(1'100, GetParam() == 2 && !under_tsan ? 20 : 14)) {
    auto const input = input_of(shape::random, n, n);
    expect_selected(input, n / 2, "random");
    if (n < 2'000) expect_selected(input, n != 0 ? scattered(n).below(n) : 0, "random");
  }
}

TEST_P(selections, are_right_in_any_arrangement_and_at_any_place) {
  for (shape const s : all_shapes)
    for (std::size_t n : {30U, 700U, 3'000U, 100'000U}) {
      n = sized(n);
      auto const input = input_of(s, n);
      for (std::size_t const place : {std::size_t{0}, n / 100, n / 3, n - 2, n - 1, n})
        expect_selected(input, place, name_of(s));
    }
}

TEST_P(selections, are_right_by_a_projection_and_without_copies) {
  auto const keys = input_of(shape::ten_values, sized(20'000));
  std::vector<std::unique_ptr<int>> v;
  for (int const k : keys) v.push_back(std::make_unique<int>(k));
  auto const nth = v.begin() + std::ssize(v) / 4;
  rubato::nth_element(pool, v.begin(), nth, v.end(), std::ranges::greater(),
                      [](auto const& p) { return *p; });
  auto expected = keys;
  std::ranges::sort(expected, std::ranges::greater());
  EXPECT_EQ(**nth, expected[expected.size() / 4]);
  std::deque<std::string> words;
  for (int const k : input_of(shape::random, 5'000)) words.push_back(std::to_string(k));
  auto sorted = words;
  std::ranges::sort(sorted);
  rubato::nth_element(pool, words, words.begin() + 1'234);
  EXPECT_EQ(words[1'234], sorted[1'234]);
}

TEST_P(selections, give_the_same_arrangement_with_any_workers) {
  for (shape const s : {shape::random, shape::ten_values}) {
    auto v = input_of(s, sized(300'000));
    auto expected = v;
    rubato::pool alone(rubato::no_workers);
    rubato::nth_element(alone, expected, expected.begin() + std::ssize(v) / 3);
    rubato::nth_element(pool, v, v.begin() + std::ssize(v) / 3);
    ASSERT_TRUE(v == expected);
  }
}

TEST(selection_calls, are_at_most_some_n_for_any_input) {
  rubato::pool alone(rubato::no_workers);
  std::size_t const n = sized(300'000);
  for (shape const s : all_shapes) {
    auto v = input_of(s, n);
    std::size_t calls = 0;
    rubato::nth_element(alone, v, v.begin() + std::ssize(v) / 2, [&calls](int a, int b) {
      ++calls;
      return a < b;
    });
    EXPECT_LE(calls, 8 * n) << name_of(s);
  }
}

/// M. D. McIlroy's adversary (A Killer Adversary for Quicksort, 1999): decides what the elements are while
/// they are compared, so that each pivot is as bad as can be.
TEST(selection_calls, are_at_most_some_n_against_an_adversary) {
  rubato::pool alone(rubato::no_workers);
  std::size_t const n = sized(100'000);
  std::vector<int> value(n, static_cast<int>(n));
  int solid = 0, candidate = 0;
  std::size_t calls = 0;
  auto v = input_of(shape::sorted, n);
  // At the middle: the adversary makes each pivot small.
  rubato::nth_element(alone, v, v.end() - 10, [&](int x, int y) {
    ++calls;
    int const gas = static_cast<int>(n);
    int &a = value[static_cast<std::size_t>(x)], &b = value[static_cast<std::size_t>(y)];
    if (a == gas && b == gas) (x == candidate ? a : b) = solid++;
    if (a == gas)
      candidate = x;
    else if (b == gas)
      candidate = y;
    return a < b;
  });
  EXPECT_LE(calls, 60 * n);
}

TEST(selection_of_rvalues, returns_dangling) {
  static_assert(
      std::is_same_v<decltype(rubato::nth_element(std::vector<int>(), std::vector<int>::iterator())),
                     std::ranges::dangling>);
  std::vector<bool> bits{true, false, true};
  rubato::nth_element(bits, bits.begin());
  EXPECT_FALSE(bits[0]);
}

#if defined(RUBATO_HAS_RAPIDCHECK)
TEST_P(selections, of_any_range) {
  EXPECT_TRUE(rc::check([&](std::vector<int> v) {
    if (v.empty()) return;
    expect_selected(v, *rc::gen::inRange<std::size_t>(0, v.size()), "generated");
  }));
}
#endif

} // namespace
