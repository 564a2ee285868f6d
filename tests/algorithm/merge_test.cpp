// merge: what std::ranges::merge makes of the same ranges.
#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "algorithm/lengths.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <rubato/algorithm/order.hpp>
#include <rubato/cancelled.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <list>
#include <ranges>
#include <sstream>
#include <string>
#include <vector>

#if defined(RUBATO_HAS_RAPIDCHECK)
#include <rapidcheck.h>
#endif

using namespace rubato_test;

namespace {

struct record {
  int key;
  std::size_t place;
  bool operator==(record const&) const = default;
};

std::vector<record> sorted_records(std::size_t n, std::uint64_t seed, int modulus, std::size_t base) {
  std::vector<int> keys = input_of(shape::random, n, seed);
  for (int& k : keys) k %= modulus;
  std::ranges::sort(keys);
  std::vector<record> made(n);
  for (std::size_t i = 0; i != n; ++i) made[i] = {keys[i], base + i};
  return made;
}

class merges : public on_workers {};
RUBATO_TEST_WITH_WORKERS(merges, all_counts);

TEST_P(merges, as_std_does_with_every_length) {
  for (std::size_t const n : seam_lengths(1'100, GetParam() == 2 && !under_tsan ? 20 : 14)) {
    for (std::size_t const part : {2U, 7U, 1'000U}) {
      if (part != 2 && n > 70 && n < 10'000) continue;
      auto const a = sorted_records(n / part, n, 1'000, 0);
      auto const b = sorted_records(n - n / part, n + 1, 1'000, n);
      std::vector<record> expected(n), out(n);
      std::ranges::merge(a, b, expected.begin(), {}, &record::key, &record::key);
      auto const ends = rubato::merge(pool, a, b, out.begin(), {}, &record::key, &record::key);
      ASSERT_TRUE(out == expected) << n << " / " << part;
      ASSERT_TRUE(ends.in1 == a.end() && ends.in2 == b.end() && ends.out == out.end());
    }
  }
}

TEST_P(merges, strings_and_different_types) {
  std::vector<std::string> words;
  for (int i = 0; i != 5'000; ++i) words.push_back(std::to_string(10'000 + 3 * i));
  std::vector<int> numbers;
  for (int i = 0; i != 4'000; ++i) numbers.push_back(10'001 + 2 * i);
  std::ranges::sort(words);
  auto const as_text = numbers | std::views::transform([](int i) { return std::to_string(i); });
  std::vector<std::string> expected(9'000), out(9'000);
  std::ranges::merge(words, as_text, expected.begin());
  rubato::merge(pool, words, as_text, out.begin());
  EXPECT_EQ(out, expected);
}

TEST_P(merges, ranges_without_random_access_and_into_streams) {
  std::list<int> const odd{1, 3, 5};
  std::vector<int> const even{2, 4, 6, 8};
  std::vector<int> out;
  rubato::merge(pool, odd, even, std::back_inserter(out));
  EXPECT_EQ(out, (std::vector<int>{1, 2, 3, 4, 5, 6, 8}));
  std::istringstream text("1 5 9");
  std::vector<int> all(7);
  rubato::merge(pool, std::istream_iterator<int>(text), std::istream_iterator<int>(), even.begin(),
                even.end(), all.begin());
  EXPECT_EQ(all, (std::vector<int>{1, 2, 4, 5, 6, 8, 9}));
  std::vector<bool> const bits{false, true};
  std::vector<int> three(4);
  rubato::merge(pool, bits, bits, three.begin());
  EXPECT_EQ(three, (std::vector<int>{0, 0, 1, 1}));
}

TEST_P(merges, every_element_once_by_a_bad_comparator) {
  for (std::size_t const n : {10U, 300U, 3'000U, 100'000U}) {
    std::vector<int> a, b;
    for (int i = 0; i != static_cast<int>(sized(n)); ++i) (i % 3 == 0 ? a : b).push_back(i);
    std::atomic<std::uint64_t> state{n};
    auto const check = [&](auto compare) {
      std::vector<int> padded(a.size() + b.size() + 2, -7);
      rubato::merge(pool, a, b, padded.begin() + 1, compare);
      ASSERT_EQ(padded.front(), -7);
      ASSERT_EQ(padded.back(), -7);
      std::sort(padded.begin() + 1, padded.end() - 1);
      for (std::size_t i = 1; i + 1 < padded.size(); ++i) ASSERT_EQ(padded[i], static_cast<int>(i) - 1);
    };
    check([](int, int) { return true; });
    check([](int x, int y) { return x >= y; });
    check([&](int, int) { return (scattered(state.fetch_add(1))() & 1U) != 0; });
  }
}

TEST_P(merges, until_a_comparator_throws_or_a_scope_stops) {
  auto const a = input_of(shape::sorted, 30'000);
  std::vector<int> out(2 * a.size());
  std::atomic<int> calls{0};
  EXPECT_THROW(rubato::merge(pool, a, a, out.begin(),
                             [&](int x, int y) {
                               if (++calls == 20'000) throw std::string("enough");
                               return x < y;
                             }),
               std::string);
  bool cancelled = false;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.request_stop();
      try {
        rubato::merge(a, a, out.begin());
      } catch (rubato::cancelled const&) {
        cancelled = true;
      }
    });
  });
  EXPECT_TRUE(cancelled);
}

#if defined(RUBATO_HAS_RAPIDCHECK)
TEST_P(merges, any_two_ranges) {
  EXPECT_TRUE(rc::check([&](std::vector<int> a, std::vector<int> b) {
    std::ranges::sort(a, std::ranges::greater());
    std::ranges::sort(b, std::ranges::greater());
    std::vector<int> expected(a.size() + b.size()), out(expected.size());
    std::ranges::merge(a, b, expected.begin(), std::ranges::greater());
    rubato::merge(pool, a.begin(), a.end(), b.begin(), b.end(), out.begin(), std::ranges::greater());
    RC_ASSERT(out == expected);
  }));
}
#endif

} // namespace
