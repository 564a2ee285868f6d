// for_range with min_chunk: chunks of whole units, but for the last one.
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
#include <limits>
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
