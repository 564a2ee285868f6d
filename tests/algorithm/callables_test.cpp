// Comparators, predicates and projections as std::ranges takes them: called on elements that are not const.
#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "support/pools.hpp"

#include <rubato/algorithm.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

using namespace rubato_test;

namespace {

struct entry {
  int number = 0;
  int get() { return number; } // not const, by oversight
  bool operator==(entry const&) const = default;
};

bool less_of(entry& a, entry& b) { return a.number < b.number; }
bool is_even(entry& x) { return x.number % 2 == 0; }
bool is_even_number(int& x) { return x % 2 == 0; }

std::vector<entry> entries(std::size_t n) {
  std::vector<entry> made;
  for (int const x : input_of(shape::random, n)) made.push_back({x});
  return made;
}

class callables : public on_workers {};
RUBATO_TEST_WITH_WORKERS(callables, all_counts);

TEST_P(callables, regression_of_orders_take_non_const_elements) {
  for (std::size_t const n : {30U, 40'000U}) {
    auto const all = entries(n);
    auto expected = all;
    std::ranges::sort(expected, less_of);
    auto v = all;
    rubato::sort(pool, v, less_of);
    EXPECT_TRUE(v == expected);
    v = all;
    rubato::sort(pool, v, {}, &entry::get);
    EXPECT_TRUE(v == expected);
    v = all;
    rubato::stable_sort(pool, v, less_of);
    EXPECT_TRUE(v == expected);
    EXPECT_TRUE(rubato::is_sorted(pool, v, less_of));
    v = all;
    rubato::nth_element(pool, v, v.begin() + 7, {}, &entry::get);
    EXPECT_EQ(v[7], expected[7]);
    std::vector<entry> merged(2 * n), twice(2 * n);
    rubato::merge(pool, expected, expected, merged.begin(), less_of);
    std::ranges::merge(expected, expected, twice.begin(), less_of);
    EXPECT_TRUE(merged == twice);
    auto const half = std::ranges::count_if(expected, is_even);
    EXPECT_EQ(rubato::partition(pool, v, is_even).begin() - v.begin(), half);
    EXPECT_EQ(rubato::stable_partition(pool, v, is_even).begin() - v.begin(), half);
    EXPECT_EQ(rubato::min_element(pool, v, less_of)->number, expected.front().number);
  }
}

TEST_P(callables, regression_of_searches_take_non_const_elements) {
  for (std::size_t const n : {30U, 100'000U}) {
    auto records = entries(n);
    auto numbers = input_of(shape::random, n);
    auto const half = std::ranges::count_if(numbers, is_even_number);
    EXPECT_TRUE(rubato::find_if(pool, numbers, is_even_number) ==
                std::ranges::find_if(numbers, is_even_number));
    EXPECT_EQ(rubato::count_if(pool, numbers, is_even_number), half);
    EXPECT_EQ(rubato::count_if(pool, records, is_even), half);
    EXPECT_EQ(std::ssize(rubato::filter(pool, numbers, is_even_number)), half);
    EXPECT_EQ(std::ssize(rubato::filter(pool, records, is_even)), half);
    std::vector<int> out(n);
    auto const copied = rubato::copy_if(pool, numbers, out.begin(), is_even_number);
    EXPECT_EQ(copied.out - out.begin(), half);
    EXPECT_FALSE(rubato::all_of(pool, numbers, is_even_number));
  }
}

} // namespace
