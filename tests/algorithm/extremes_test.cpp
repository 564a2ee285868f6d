// min_element, max_element and minmax_element against std.
#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "algorithm/lengths.hpp"
#include "support/pools.hpp"
#include "support/values.hpp"

#include <rubato/algorithm/search.hpp>
#include <rubato/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <string>
#include <vector>

using namespace rubato_test;

namespace {

class extremes_test : public on_workers {};
RUBATO_TEST_WITH_WORKERS(extremes_test, all_counts);

template<class V, class... Order>
void expect_as_std(V const& v, Order... order) {
  auto const least = std::ranges::min_element(v, order...);
  auto const greatest = std::ranges::max_element(v, order...);
  auto const both = std::ranges::minmax_element(v, order...);
  auto const found = rubato::minmax_element(v, order...);
  ASSERT_TRUE(rubato::min_element(v, order...) == least);
  ASSERT_TRUE(rubato::max_element(v, order...) == greatest);
  ASSERT_TRUE(found.min == both.min && found.max == both.max);
}

template<class T>
std::vector<T> few_values(std::size_t n, std::uint64_t seed) {
  std::vector<T> v(n);
  scattered next(seed);
  for (T& x : v)
    x = static_cast<T>(static_cast<int>(next.below(120)) - (std::numeric_limits<T>::is_signed ? 60 : 0));
  return v;
}

TEST_P(extremes_test, are_those_of_std_at_every_seam) {
  pool.run([&] {
    for (auto const n : seam_lengths(1'100, 18)) {
      expect_as_std(few_values<int>(n, n));
      if (n < 300 || n > 2'000) expect_as_std(few_values<int>(n, n), [](int a, int b) { return a > b; });
    }
  });
}

TEST_P(extremes_test, are_those_of_std_for_numbers_of_any_kind) {
  auto const of = [](auto zero) {
    using number = decltype(zero);
    for (std::size_t const n : {1U, 2U, 17U, 64U, 100U, 1'023U, 1'025U, 5'000U, 70'001U}) {
      expect_as_std(few_values<number>(n, n));
      expect_as_std(few_values<number>(n, n), std::ranges::greater());
    }
  };
  pool.run([&] {
    of(char{});
    of(std::uint16_t{});
    of(std::int64_t{});
    of(float{});
    of(double{});
    expect_as_std(std::vector<bool>(3'000, true));
  });
}

TEST_P(extremes_test, take_comparators_projections_and_ranges) {
  auto const numbers = few_values<int>(30'000, 7);
  std::deque<int> const both_ends(numbers.begin(), numbers.end());
  std::list<int> const linked(numbers.begin(), numbers.end());
  std::vector<std::string> words;
  for (int const x : numbers) words.push_back(std::to_string(x));
  pool.run([&] {
    expect_as_std(both_ends);
    expect_as_std(linked);
    expect_as_std(words);
    expect_as_std(words, std::ranges::less(), &std::string::size);
    EXPECT_TRUE(rubato::max_element(words, {}, &std::string::size) ==
                std::ranges::max_element(words, {}, &std::string::size));
    EXPECT_TRUE(rubato::min_element(pool, words.begin(), words.end(), {}) == std::ranges::min_element(words));
    std::vector<int> const none;
    EXPECT_TRUE(rubato::min_element(none) == none.end() && rubato::minmax_element(none).max == none.end());
  });
}

TEST_P(extremes_test, of_numbers_without_an_order_are_elements) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  pool.run([&] {
    for (std::size_t const n : {1U, 63U, 1'000U, 100'000U}) {
      std::vector<double> v(n, nan);
      EXPECT_TRUE(rubato::min_element(v) != v.end() && rubato::max_element(v) != v.end());
      for (std::size_t i = 0; i < n; i += 7) v[i] = static_cast<double>(i);
      EXPECT_TRUE(rubato::min_element(v) < v.end() && rubato::minmax_element(v).max < v.end());
      auto const always = [](double, double) { return true; };
      EXPECT_TRUE(rubato::min_element(v, always) < v.end() &&
                  rubato::minmax_element(v, always).min < v.end());
    }
  });
}

TEST_P(extremes_test, need_no_more_comparisons_than_documented) {
  auto const numbers = few_values<int>(50'000, 3);
  std::atomic<long> calls{0};
  auto const less = [&](int a, int b) {
    calls.fetch_add(1, std::memory_order_relaxed);
    return a < b;
  };
  pool.run([&] {
    rubato::min_element(numbers, less);
    EXPECT_LE(calls.exchange(0), 50'600);
    rubato::minmax_element(numbers, less);
    EXPECT_LE(calls.exchange(0), 76'200);
  });
}

TEST_P(extremes_test, throw_what_a_comparator_throws) {
  leak_check const leaks;
  auto const numbers = few_values<int>(50'000, 3);
  for (int const k : {0, 40, 70, 20'000}) {
    std::atomic<int> calls{0};
    EXPECT_EQ(thrown_by(pool,
                        [&] {
                          rubato::max_element(numbers, [&](int a, int b) {
                            if (calls++ == k) throw counted_error(k);
                            return a < b;
                          });
                        }),
              k);
  }
}

} // namespace
