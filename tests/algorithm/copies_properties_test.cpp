// Searches and copies do what std does with whatever comes. Needs RapidCheck.
#if defined(RUBATO_HAS_RAPIDCHECK)

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "support/pools.hpp"

#include <rubato/algorithm/copies.hpp>
#include <rubato/algorithm/search.hpp>
#include <rubato/thread_pool.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

using namespace rubato_test;

namespace {

class copies_properties : public on_workers {};
RUBATO_TEST_WITH_WORKERS(copies_properties, all_counts);

/// Some numbers, again and again: long enough to be shared out.
std::vector<int> long_one(std::vector<unsigned char> const& some, unsigned n) {
  std::vector<int> v(some.empty() ? 0 : n);
  for (std::size_t i = 0; i != v.size(); ++i) v[i] = some[i % some.size()] + static_cast<int>(i / 40'000);
  return v;
}

TEST_P(copies_properties, searches_are_those_of_std) {
  EXPECT_TRUE(
      rc::check([&](std::vector<unsigned char> const& some, unsigned short length, unsigned char wanted) {
        auto const v = long_one(some, length * 3U);
        RC_ASSERT(rubato::find(pool, v, wanted) == std::ranges::find(v, wanted));
        RC_ASSERT(rubato::count(pool, v, wanted) == std::ranges::count(v, wanted));
        RC_ASSERT(rubato::min_element(pool, v) == std::ranges::min_element(v));
        RC_ASSERT(rubato::max_element(pool, v) == std::ranges::max_element(v));
        RC_ASSERT(rubato::minmax_element(pool, v).max == std::ranges::minmax_element(v).max);
        auto other = v;
        if (!v.empty()) ++other[wanted % v.size()];
        RC_ASSERT(rubato::mismatch(pool, v, other).in1 == std::ranges::mismatch(v, other).in1);
        RC_ASSERT(rubato::equal(pool, v, other) == v.empty());
      }));
}

TEST_P(copies_properties, copies_are_those_of_std) {
  EXPECT_TRUE(
      rc::check([&](std::vector<unsigned char> const& some, unsigned short length, unsigned char limit) {
        auto const v = long_one(some, length * 3U);
        auto const is_kept = [limit](int x) { return x < limit; };
        std::vector<int> expected;
        std::ranges::copy_if(v, std::back_inserter(expected), is_kept);
        RC_ASSERT(rubato::filter(pool, v, is_kept) == expected);
        std::vector<int> out(expected.size());
        RC_ASSERT(rubato::copy_if(pool, v, out.begin(), is_kept).out == out.end());
        RC_ASSERT(out == expected);
        auto const twice = rubato::map_to_vector(pool, v, [](int x) { return 2L * x; });
        RC_ASSERT(std::ranges::equal(twice, v, {}, {}, [](int x) { return 2L * x; }));
      }));
}

} // namespace

#endif
