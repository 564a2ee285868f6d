// for_range and for_each with min_chunk: chunks of whole units, but for the last one.
#include <gtest/gtest.h>

#if defined(RUBATO_HAS_RAPIDCHECK)
#include <rapidcheck.h>
#endif

#include "support/pools.hpp"
#include "support/values.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/cancelled.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <limits>
#include <list>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

using namespace rubato_test;

namespace {

class min_chunk_test : public on_workers {};
RUBATO_TEST_WITH_WORKERS(min_chunk_test, all_counts);

/// True if the chunks of [first, last) partition it, and are as long as they must be.
bool keeps_to(rubato::pool& pool, int first, int last, int least) {
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(std::max(0, last - first)));
  std::atomic<bool> right{true};
  rubato::for_range(pool, first, last, rubato::min_chunk(least), [&](int lo, int hi) {
    if (lo < first || hi <= lo || hi > last || (lo - first) % least != 0) right = false;
    if (hi != last && (hi - lo) % least != 0) right = false;
    for (int i = lo; i < hi; ++i) ++seen[static_cast<std::size_t>(i - first)];
  });
  return right && std::ranges::all_of(seen, [](auto const& n) { return n == 1; });
}

TEST_P(min_chunk_test, holds_for_all_but_the_last_chunk) {
  for (int const n : {0, 1, 2, 63, 64, 65, 1'000, 100'000})
    for (int const least : {1, 2, 7, 64, 1'000, 1'000'000}) {
      ASSERT_TRUE(keeps_to(pool, 0, n, least)) << n << ' ' << least;
      ASSERT_TRUE(keeps_to(pool, -30, n - 30, least)) << n << ' ' << least;
    }
  EXPECT_TRUE(keeps_to(pool, 5, 3, 2)) << "a reversed interval makes no call";
}

#if defined(RUBATO_HAS_RAPIDCHECK)
TEST_P(min_chunk_test, holds_for_any_interval) {
  EXPECT_TRUE(rc::check([&](std::int16_t first, std::uint16_t n, std::uint8_t least) {
    RC_ASSERT(keeps_to(pool, first, first + n % 5'000, least + 1));
  }));
}
#endif

TEST_P(min_chunk_test, takes_bounds_at_the_ends_of_their_types) {
  auto const most = std::numeric_limits<std::uint64_t>::max();
  std::atomic<std::uint64_t> sum{0};
  auto const add = [&](std::uint64_t lo, std::uint64_t hi) { sum += hi - lo; };
  rubato::for_range(pool, std::uint64_t{0}, most, rubato::min_chunk(most / 3 * 2), add);
  EXPECT_EQ(sum.load(), most);
  sum = 0;
  rubato::for_range(pool, most - 10, most, rubato::min_chunk(most), add);
  EXPECT_EQ(sum.load(), 10U);
  rubato::for_range(pool, std::int8_t{-128}, 127L, rubato::min_chunk(std::uint8_t{200}),
                    [](auto lo, auto) { static_assert(std::is_same_v<decltype(lo), long>); });
}

/// True if f gets each element of the range once, at least so many in a row on a thread but for the last
/// ones.
template<class Range>
bool hands_out(rubato::pool& pool, Range&& range, int n, int least) {
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
  std::vector<std::thread::id> by(static_cast<std::size_t>(n));
  rubato::for_each(pool, range, rubato::min_chunk(least), [&](int i) {
    ++seen[static_cast<std::size_t>(i)];
    by[static_cast<std::size_t>(i)] = std::this_thread::get_id();
  });
  bool right = std::ranges::all_of(seen, [](auto const& k) { return k == 1; });
  for (int lo = 0, hi = 0; lo != n; lo = hi) {
    while (hi != n && by[static_cast<std::size_t>(hi)] == by[static_cast<std::size_t>(lo)]) ++hi;
    if (hi != n && hi - lo < least) right = false;
  }
  if (n <= least && n != 0) right = right && by[0] == std::this_thread::get_id();
  return right;
}

TEST_P(min_chunk_test, holds_for_elements_of_ranges_of_all_kinds) {
  for (int const n : {0, 1, 2, 63, 64, 65, 1'000})
    for (int const least : {1, 2, 7, 64, 1'000, std::numeric_limits<int>::max()}) {
      std::vector<int> array(static_cast<std::size_t>(n));
      std::iota(array.begin(), array.end(), 0);
      std::list<int> const with_size(array.begin(), array.end());
      std::forward_list<int> const without(array.begin(), array.end());
      auto all = array | std::views::filter([](int) { return true; });
      ASSERT_TRUE(hands_out(pool, array, n, least)) << n << ' ' << least;
      ASSERT_TRUE(hands_out(pool, with_size, n, least)) << n << ' ' << least;
      ASSERT_TRUE(hands_out(pool, without, n, least)) << n << ' ' << least;
      ASSERT_TRUE(hands_out(pool, all, n, least)) << n << ' ' << least;
      ASSERT_TRUE(hands_out(pool, std::ranges::subrange(array.begin(), array.end()), n, least));
    }
}

TEST_P(min_chunk_test, may_be_huge_for_a_range_without_a_size) {
  std::forward_list<int> const three{1, 2, 3};
  std::atomic<int> sum{0};
  rubato::for_each(pool, three, rubato::min_chunk(std::numeric_limits<std::uint64_t>::max()),
                   [&](int i) { sum += i; });
  EXPECT_EQ(sum.load(), 6);
  rubato::for_each(pool, three.begin(), three.end(), rubato::min_chunk(2), [&](int i) { sum += i; });
  EXPECT_EQ(sum.load(), 12);
}

TEST_P(min_chunk_test, passes_on_what_an_element_throws) {
  std::forward_list<int> const some{1, 2, 3, 4, 5, 6, 7, 8};
  for (int const least : {1, 3, 100}) {
    EXPECT_THROW(rubato::for_each(pool, some, rubato::min_chunk(least),
                                  [](int i) {
                                    if (i == 5) throw std::out_of_range("five");
                                  }),
                 std::out_of_range);
    rubato::with_scope(pool, [&](rubato::scope& s) {
      s.request_stop();
      EXPECT_THROW(rubato::for_each(pool, some, rubato::min_chunk(least), [](int) {}), rubato::cancelled);
    });
  }
}

TEST(min_chunk, is_at_least_1) {
  EXPECT_THROW(rubato::min_chunk(0), std::invalid_argument);
  EXPECT_THROW(rubato::min_chunk(-1), std::invalid_argument);
  EXPECT_THROW(rubato::min_chunk(std::size_t{0}), std::invalid_argument);
  static_assert(rubato::min_chunk(3).indices() == 3);
}

TEST_P(min_chunk_test, ends_with_an_exception_and_with_the_scope) {
  EXPECT_EQ(thrown_by([&] {
              rubato::for_range(pool, 0, 10'000, rubato::min_chunk(10), [](int lo, int hi) {
                if (lo <= 777 && 777 < hi) throw counted_error(7);
              });
              return 0;
            }),
            7);
  bool ended = false;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      try {
        rubato::for_range(0, 1'000'000, rubato::min_chunk(5), [&](int, int) { s.request_stop(); });
      } catch (rubato::cancelled const&) {
        ended = true;
      }
    });
  });
  EXPECT_TRUE(ended);
}

TEST(min_chunk, wakes_no_worker_for_a_single_chunk) {
  rubato::pool pool(3);
  pool.run([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // else no worker sleeps that could be woken
    auto const woken = pool.stats().woken;
    for (int i = 0; i != 100; ++i) rubato::for_range(0, 10, rubato::min_chunk(10), [](int, int) {});
    EXPECT_EQ(pool.stats().woken, woken);
  });
}

} // namespace
