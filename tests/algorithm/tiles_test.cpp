// for_tile: tiles that partition a rectangle or a box, near-square, down to one element.
#include <gtest/gtest.h>

#if defined(RUBATO_HAS_RAPIDCHECK)
#include <rapidcheck.h>
#endif

#include "support/pools.hpp"
#include "support/values.hpp"

#include <rubato/algorithm/tiles.hpp>
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
#include <type_traits>
#include <vector>

using namespace rubato_test;

namespace {

class tiles_test : public on_workers {};
RUBATO_TEST_WITH_WORKERS(tiles_test, all_counts);

/// True if each element of the rectangle is in exactly one tile, and no tile is empty.
bool are_a_partition(rubato::pool& pool, int rows, int cols) {
  std::vector<std::atomic<unsigned char>> seen(static_cast<std::size_t>(rows) *
                                               static_cast<std::size_t>(cols));
  std::atomic<bool> right{true};
  rubato::for_tile(pool, rows, cols, [&](int r0, int r1, int c0, int c1) {
    if (!(0 <= r0 && r0 < r1 && r1 <= rows && 0 <= c0 && c0 < c1 && c1 <= cols)) right = false;
    for (int r = r0; r < r1; ++r)
      for (int c = c0; c < c1; ++c)
        ++seen[static_cast<std::size_t>(r) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(c)];
  });
  return right && std::ranges::all_of(seen, [](auto const& n) { return n == 1; });
}

TEST_P(tiles_test, partition_the_rectangle) {
  for (int const rows : {1, 2, 7, 64, 101})
    for (int const cols : {1, 3, 64, 65, 300})
      ASSERT_TRUE(are_a_partition(pool, rows, cols)) << rows << " x " << cols;
  EXPECT_TRUE(are_a_partition(pool, 1, 20'000));
  EXPECT_TRUE(are_a_partition(pool, 20'000, 1));
}

#if defined(RUBATO_HAS_RAPIDCHECK)
TEST_P(tiles_test, partition_any_rectangle_and_box) {
  EXPECT_TRUE(rc::check([&](std::uint8_t rows, std::uint8_t cols, std::uint8_t planes) {
    RC_ASSERT(are_a_partition(pool, rows % 50, cols % 50));
    std::size_t const p = planes % 20, r = rows % 20, c = cols % 20;
    std::vector<std::atomic<int>> seen(p * r * c);
    rubato::for_tile(pool, p, r, c, [&](auto p0, auto p1, auto r0, auto r1, auto c0, auto c1) {
      for (auto i = p0; i < p1; ++i)
        for (auto j = r0; j < r1; ++j)
          for (auto k = c0; k < c1; ++k) ++seen[(i * r + j) * c + k];
    });
    RC_ASSERT(std::ranges::all_of(seen, [](auto const& n) { return n == 1; }));
  }));
}
#endif

TEST_P(tiles_test, partition_a_box) {
  std::vector<std::atomic<int>> seen(50UL * 60 * 70);
  rubato::for_tile(pool, 50, 60, 70, [&](int p0, int p1, int r0, int r1, int c0, int c1) {
    for (int p = p0; p != p1; ++p)
      for (int r = r0; r != r1; ++r)
        for (int c = c0; c != c1; ++c) ++seen[static_cast<std::size_t>((p * 60 + r) * 70 + c)];
  });
  EXPECT_TRUE(std::ranges::all_of(seen, [](auto const& n) { return n == 1; }));
}

TEST_P(tiles_test, make_no_call_for_an_empty_side) {
  auto const fails = [](auto...) { ADD_FAILURE(); };
  rubato::for_tile(pool, 0, 10, [&](int a, int b, int c, int d) { fails(a, b, c, d); });
  rubato::for_tile(pool, 10, 0, [&](int a, int b, int c, int d) { fails(a, b, c, d); });
  rubato::for_tile(pool, -1, 10, [&](int a, int b, int c, int d) { fails(a, b, c, d); });
  auto const huge = std::numeric_limits<std::uint64_t>::max();
  rubato::for_tile(pool, huge, 0, huge,
                   [&](auto a, auto b, auto c, auto d, auto e, auto f) { fails(a, b, c, d, e, f); });
}

TEST_P(tiles_test, refuse_more_elements_than_can_be_counted) {
  auto const none = [](auto...) {};
  std::uint64_t const big = std::uint64_t{1} << 32U;
  EXPECT_THROW(rubato::for_tile(pool, big, big, none), std::length_error);
  EXPECT_THROW(rubato::for_tile(pool, big, 2, big, none), std::length_error);
}

TEST_P(tiles_test, have_the_common_type_of_the_sizes) {
  rubato::for_tile(pool, 3, std::int64_t{4}, [](auto r0, auto, auto, auto) {
    static_assert(std::is_same_v<decltype(r0), std::int64_t>);
  });
  rubato::for_tile(pool, std::uint8_t{3}, 4U, std::size_t{5}, [](auto p0, auto, auto, auto, auto, auto) {
    static_assert(std::is_same_v<decltype(p0), std::size_t>);
  });
  // Sizes near the end of their type.
  std::atomic<int> elements{0};
  rubato::for_tile(pool, std::uint8_t{255}, std::uint8_t{255},
                   [&](int r0, int r1, int c0, int c1) { elements += (r1 - r0) * (c1 - c0); });
  EXPECT_EQ(elements.load(), 255 * 255);
}

TEST_P(tiles_test, are_near_square_and_fit_into_a_cache) {
  std::atomic<std::int64_t> elements{0}, tiles{0};
  std::atomic<bool> right{true};
  rubato::for_tile(pool, 3'000, 5'000, [&](int r0, int r1, int c0, int c1) {
    std::int64_t const height = r1 - r0, width = c1 - c0;
    if (height > 3 * width + 32 || width > 3 * height + 32 || height * width > 16'384) right = false;
    elements += height * width;
    ++tiles;
  });
  EXPECT_TRUE(right.load());
  EXPECT_EQ(elements.load(), 15'000'000);
  EXPECT_LT(tiles.load(), 70'000);
}

TEST_P(tiles_test, are_single_elements_where_they_take_long) {
  std::atomic<int> largest{0};
  rubato::for_tile(pool, 4, 5, [&](int r0, int r1, int c0, int c1) {
    int const size = (r1 - r0) * (c1 - c0);
    for (int seen = largest; seen < size && !largest.compare_exchange_weak(seen, size);) {
    }
    auto const end = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    while (std::chrono::steady_clock::now() < end) {
    }
  });
  EXPECT_EQ(largest.load(), 1);
}

TEST_P(tiles_test, end_with_an_exception_and_with_the_scope) {
  EXPECT_EQ(thrown_by([&] {
              rubato::for_tile(pool, 100, 100, [](int r0, int r1, int c0, int c1) {
                if (r0 <= 50 && 50 < r1 && c0 <= 70 && 70 < c1) throw counted_error(3);
              });
              return 0;
            }),
            3);
  bool ended = false;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      try {
        rubato::for_tile(1'000, 1'000, [&](int, int, int, int) { s.request_stop(); });
      } catch (rubato::cancelled const&) {
        ended = true;
      }
    });
  });
  EXPECT_TRUE(ended);
}

} // namespace
