// partition, stable_partition, remove_if, unique: what std::ranges does to the same elements.
#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "algorithm/lengths.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <rubato/algorithm/copies.hpp>
#include <rubato/algorithm/order.hpp>
#include <rubato/pool.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#if defined(RUBATO_HAS_RAPIDCHECK)
#include <rapidcheck.h>
#endif

using namespace rubato_test;

namespace {

struct above {
  int bound;
  bool operator()(int x) const { return x > bound; }
};

/// As std::stable_partition does.
template<class R, class Pred>
std::size_t divide(R& range, Pred pred) {
  auto const all = range;
  auto out = range.begin();
  for (bool const wanted : {true, false})
    out = std::copy_if(all.begin(), all.end(), out, [&](auto const& x) { return pred(x) == wanted; });
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), pred));
}

class divisions : public on_workers {
protected:
  void expect_partitioned(std::vector<int> const& input, above pred) {
    auto v = input;
    std::atomic<std::size_t> calls{0};
    auto const counting = [&](int x) {
      calls.fetch_add(1, std::memory_order_relaxed);
      return pred(x);
    };
    auto const others = rubato::partition(pool, v, counting);
    ASSERT_EQ(calls.load(), v.size());
    ASSERT_TRUE(others.end() == v.end());
    ASSERT_TRUE(std::all_of(v.begin(), others.begin(), pred)) << v.size();
    ASSERT_TRUE(std::none_of(others.begin(), v.end(), pred)) << v.size();
    auto expected = input;
    std::ranges::sort(expected);
    std::ranges::sort(v);
    ASSERT_TRUE(v == expected) << v.size();

    v = input;
    expected = input;
    calls = 0;
    auto const after = rubato::stable_partition(pool, v, counting);
    auto const held = divide(expected, pred);
    ASSERT_EQ(calls.load(), v.size());
    ASSERT_TRUE(v == expected) << v.size();
    ASSERT_EQ(static_cast<std::size_t>(after.begin() - v.begin()), held);
  }
  void expect_removed(std::vector<int> const& input, above pred) {
    auto v = input, expected = input;
    std::atomic<std::size_t> calls{0};
    auto const gone = rubato::remove_if(pool, v, [&](int x) {
      calls.fetch_add(1, std::memory_order_relaxed);
      return pred(x);
    });
    ASSERT_EQ(calls.load(), v.size());
    ASSERT_TRUE(gone.end() == v.end());
    v.erase(gone.begin(), gone.end());
    std::erase_if(expected, pred);
    ASSERT_TRUE(v == expected) << input.size();
    for (int const few : {0, 1}) {
      auto const same = [few](int a, int b) { return few != 0 ? a % 3 == b % 3 : a == b; };
      v = expected = input;
      auto const twice = rubato::unique(pool, v, same);
      ASSERT_TRUE(twice.end() == v.end());
      v.erase(twice.begin(), twice.end());
      auto const by_std = std::ranges::unique(expected, same);
      expected.erase(by_std.begin(), by_std.end());
      ASSERT_TRUE(v == expected) << input.size();
    }
  }
};
RUBATO_TEST_WITH_WORKERS(divisions, all_counts);

TEST_P(divisions, of_every_short_range_and_around_powers_of_two) {
  for (std::size_t const n : seam_lengths(1'100, GetParam() == 2 && !under_tsan ? 20 : 14)) {
    auto const input = input_of(shape::random, n, n);
    expect_partitioned(input, {0});
    if (n < 2'000 || n % 2 == 0) expect_partitioned(input, {1'500'000'000});
  }
}
TEST_P(divisions, leave_out_the_same_of_every_range_as_std) {
  for (std::size_t const n : seam_lengths(1'100, GetParam() == 2 && !under_tsan ? 20 : 14)) {
    auto const input = input_of(n % 2 == 0 ? shape::random : shape::ten_values, n, n);
    expect_removed(input, {n % 2 == 0 ? 0 : 3});
  }
}

TEST_P(divisions, of_any_arrangement) {
  for (shape const s : all_shapes)
    for (std::size_t n : {100U, 3'000U, 100'000U}) {
      n = sized(n);
      auto const input = input_of(s, n);
      for (int const bound : {-1, static_cast<int>(n / 10), static_cast<int>(n / 2), 2'147'483'647}) {
        expect_partitioned(input, {bound});
        expect_removed(input, {bound});
      }
    }
}

TEST_P(divisions, of_elements_that_cannot_be_copied) {
  auto const keys = input_of(shape::random, sized(20'000));
  auto const made = [&] {
    std::vector<std::unique_ptr<int>> v;
    for (int const k : keys) v.push_back(std::make_unique<int>(k % 100));
    return v;
  };
  auto const value = [](std::unique_ptr<int> const& p) { return *p; };
  auto const values = [&](auto const& range) {
    std::vector<int> out;
    for (auto const& p : range) out.push_back(*p);
    return out;
  };
  auto v = made();
  auto others = rubato::partition(pool, v, above{50}, value);
  EXPECT_TRUE(std::ranges::none_of(others, above{50}, value));
  v = made();
  auto expected = values(v);
  rubato::stable_partition(pool, v.begin(), v.end(), above{50}, value);
  divide(expected, above{50});
  EXPECT_EQ(values(v), expected);
  v = made();
  expected = values(v);
  auto gone = rubato::remove_if(pool, v.begin(), v.end(), above{50}, value);
  v.erase(gone.begin(), gone.end());
  std::erase_if(expected, above{50});
  EXPECT_EQ(values(v), expected);
  gone = rubato::unique(pool, v, {}, [](auto const& p) { return *p / 8; });
  v.erase(gone.begin(), gone.end());
  auto const by_std = std::ranges::unique(expected, {}, [](int x) { return x / 8; });
  expected.erase(by_std.begin(), by_std.end());
  EXPECT_EQ(values(v), expected);
}

TEST_P(divisions, of_lists_deques_and_bits) {
  std::list<int> l{5, 1, 5, 2, 2};
  auto rest = rubato::stable_partition(pool, l, above{3});
  EXPECT_EQ(l, (std::list<int>{5, 5, 1, 2, 2}));
  EXPECT_EQ(*rest.begin(), 1);
  rest = rubato::unique(pool, l);
  EXPECT_EQ(std::ranges::distance(rest), 2);
  EXPECT_EQ(std::ranges::distance(rubato::partition(pool, l, above{3})), 4);
  EXPECT_EQ(std::ranges::distance(rubato::remove_if(pool, l, above{3})), 1);
  std::deque<std::string> words;
  for (int const k : input_of(shape::random, 5'000)) words.push_back(std::to_string(k));
  auto expected = words;
  auto const is_long = [](std::size_t n) { return n > 9; };
  rubato::stable_partition(pool, words, is_long, &std::string::size);
  divide(expected, [&](std::string const& s) { return is_long(s.size()); });
  EXPECT_EQ(words, expected);
  std::vector<bool> bits{true, false, true};
  rubato::partition(pool, bits, std::identity());
  EXPECT_EQ(bits, (std::vector<bool>{true, true, false}));
  rubato::stable_partition(pool, bits, std::logical_not<>());
  EXPECT_EQ(bits, (std::vector<bool>{false, true, true}));
  EXPECT_EQ(std::ranges::distance(rubato::unique(pool, bits)), 1);
  EXPECT_EQ(std::ranges::distance(rubato::remove_if(pool, bits, std::identity())), 2);
}

TEST_P(divisions, give_the_same_arrangement_with_any_workers) {
  auto v = input_of(shape::random, sized(500'000));
  auto expected = v;
  rubato::pool alone(rubato::no_workers);
  rubato::partition(alone, expected, above{1'000'000});
  rubato::partition(pool, v, above{1'000'000});
  EXPECT_TRUE(v == expected);
}

TEST(divisions_of_rvalues, return_dangling) {
  using std::ranges::dangling;
  static_assert(std::is_same_v<decltype(rubato::partition(std::vector<int>(), above{1})), dangling>);
  static_assert(std::is_same_v<decltype(rubato::stable_partition(std::vector<int>(), above{1})), dangling>);
  static_assert(std::is_same_v<decltype(rubato::remove_if(std::vector<int>(), above{1})), dangling>);
  static_assert(std::is_same_v<decltype(rubato::unique(std::vector<int>())), dangling>);
}

#if defined(RUBATO_HAS_RAPIDCHECK)
TEST_P(divisions, of_any_range) {
  EXPECT_TRUE(rc::check([&](std::vector<int> v, int bound, bool wide) {
    if (wide)
      for (std::size_t i = 0; v.size() < 5'000 && i < v.size(); ++i) v.push_back(v[i] / 2);
    expect_partitioned(v, {bound});
    expect_removed(v, {bound});
  }));
}
#endif

} // namespace
