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

template<class Concept>
class iterator_of {
  int* at_ = nullptr;

public:
  using value_type = int;
  using difference_type = short;
  using reference = int&;
  using pointer = int*;
  using iterator_category = std::random_access_iterator_tag;
  using iterator_concept = Concept;

  iterator_of() = default;
  explicit iterator_of(int* at)
      : at_(at) {}
  reference operator*() const { return *at_; }
  pointer operator->() const { return at_; }
  reference operator[](short n) const { return at_[n]; }
  iterator_of& operator+=(short n) {
    at_ += n;
    return *this;
  }
  iterator_of& operator-=(short n) {
    at_ -= n;
    return *this;
  }
  iterator_of& operator++() { return *this += 1; }
  iterator_of& operator--() { return *this -= 1; }
  iterator_of operator++(int) { return iterator_of(at_++); }
  iterator_of operator--(int) { return iterator_of(at_--); }
  friend iterator_of operator+(iterator_of i, short n) { return i += n; }
  friend iterator_of operator+(short n, iterator_of i) { return i += n; }
  friend iterator_of operator-(iterator_of i, short n) { return i -= n; }
  friend short operator-(iterator_of x, iterator_of y) { return static_cast<short>(x.at_ - y.at_); }
  auto operator<=>(iterator_of const&) const = default;
};
using narrow_iterator = iterator_of<std::random_access_iterator_tag>;
using narrow_pointer = iterator_of<std::contiguous_iterator_tag>;
static_assert(std::random_access_iterator<narrow_iterator>);
static_assert(std::contiguous_iterator<narrow_pointer> && !std::contiguous_iterator<narrow_iterator>);

class narrow_iterators : public on_workers {};
RUBATO_TEST_WITH_WORKERS(narrow_iterators, all_counts);

template<class It>
void all_take(rubato::pool& pool) {
  std::vector<int> v = input_of(shape::random, 32'000), out(v.size());
  std::ranges::subrange const all(It(v.data()), It(v.data() + v.size()));
  It const to(out.data());
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

TEST_P(narrow_iterators, regression_are_accepted) { all_take<narrow_iterator>(pool); }
TEST_P(narrow_iterators, regression_of_arrays_are_accepted) { all_take<narrow_pointer>(pool); }

} // namespace
