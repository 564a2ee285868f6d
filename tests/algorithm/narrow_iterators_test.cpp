// Iterators whose difference type is narrower than int: arithmetic on it makes ints.
#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "support/pools.hpp"

// The elements are few enough for it.
#pragma GCC diagnostic ignored "-Wconversion"

#include <rubato/algorithm.hpp>

#include <algorithm>
#include <compare>
#include <functional>
#include <iterator>
#include <numeric>
#include <ranges>
#include <vector>

using namespace rubato_test;

namespace {

class narrow_iterator {
  int* at_ = nullptr;

public:
  using value_type = int;
  using difference_type = short;
  using reference = int&;
  using pointer = int*;
  using iterator_category = std::random_access_iterator_tag;

  narrow_iterator() = default;
  explicit narrow_iterator(int* at)
      : at_(at) {}
  reference operator*() const { return *at_; }
  reference operator[](short n) const { return at_[n]; }
  narrow_iterator& operator+=(short n) {
    at_ += n;
    return *this;
  }
  narrow_iterator& operator-=(short n) {
    at_ -= n;
    return *this;
  }
  narrow_iterator& operator++() { return *this += 1; }
  narrow_iterator& operator--() { return *this -= 1; }
  narrow_iterator operator++(int) { return narrow_iterator(at_++); }
  narrow_iterator operator--(int) { return narrow_iterator(at_--); }
  friend narrow_iterator operator+(narrow_iterator i, short n) { return i += n; }
  friend narrow_iterator operator+(short n, narrow_iterator i) { return i += n; }
  friend narrow_iterator operator-(narrow_iterator i, short n) { return i -= n; }
  friend short operator-(narrow_iterator x, narrow_iterator y) { return static_cast<short>(x.at_ - y.at_); }
  auto operator<=>(narrow_iterator const&) const = default;
};
static_assert(std::random_access_iterator<narrow_iterator>);

class narrow_iterators : public on_workers {};
RUBATO_TEST_WITH_WORKERS(narrow_iterators, all_counts);

TEST_P(narrow_iterators, regression_are_accepted) {
  std::vector<int> v = input_of(shape::random, 32'000), out(v.size());
  std::ranges::subrange const all(narrow_iterator(v.data()), narrow_iterator(v.data() + v.size()));
  narrow_iterator const to(out.data());
  ASSERT_TRUE(short{1} + to == to + short{1}); // Clang warns of an operator that nothing calls
  auto const even = [](int x) { return x % 2 == 0; };
  auto expected = v;
  std::ranges::sort(expected);
  EXPECT_EQ(*rubato::min_element(pool, all), expected.front());
  EXPECT_EQ(rubato::reduce(pool, all, 0L, std::plus<>()), std::accumulate(v.begin(), v.end(), 0L));
  rubato::copy(pool, all, to);
  EXPECT_EQ(out, v);
  EXPECT_EQ(rubato::copy_if(pool, all, to, even).out - to, std::ranges::count_if(v, even));
  rubato::nth_element(pool, all, all.begin() + short{500});
  EXPECT_EQ(v[500], expected[500]);
  rubato::stable_partition(pool, all, even);
  EXPECT_TRUE(std::ranges::is_partitioned(v, even));
  rubato::sort(pool, all);
  EXPECT_EQ(v, expected);
  rubato::partition(pool, all, even);
  rubato::stable_sort(pool, all);
  EXPECT_EQ(v, expected);
}

} // namespace
