// for_index and for_range: every index once, whatever the bounds.
#include <gtest/gtest.h>

#include "support/callables.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/tally.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/join.hpp>
#include <rubato/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>

using namespace rubato_test;

namespace {

class for_index : public on_workers {};
RUBATO_TEST_WITH_WORKERS(for_index, all_counts);

class for_range : public on_workers {};
RUBATO_TEST_WITH_WORKERS(for_range, all_counts);

class parallel_indices : public on_workers {};
RUBATO_TEST_WITH_WORKERS(parallel_indices, counts_in_parallel);

/// The index that a loop over (First, Last) hands to its body.
template<class First, class Last>
using index_of = std::common_type_t<First, Last>;

/// Checks the type of the index, and counts.
template<class First, class Last>
void expect_indices(First first, Last last, std::vector<index_of<First, Last>> const& expected) {
  using index = index_of<First, Last>;
  std::vector<std::atomic<int>> counts(expected.size());
  std::atomic<int> others{0};
  rubato::for_index(first, last, [&](auto i) {
    static_assert(std::is_same_v<decltype(i), index>);
    auto const found = std::find(expected.begin(), expected.end(), i);
    if (found == expected.end()) {
      ++others;
    } else {
      ++counts[static_cast<std::size_t>(found - expected.begin())];
    }
  });
  EXPECT_EQ(others.load(), 0);
  for (auto const& count : counts) EXPECT_EQ(count.load(), 1);
}

TEST_P(for_index, takes_bounds_of_different_types) {
  pool.run([] {
    expect_indices(0, std::size_t{3}, {0, 1, 2});
    expect_indices(std::uint8_t{250}, 253, {250, 251, 252});
    expect_indices(short{-2}, static_cast<signed char>(1), {-2, -1, 0});
    expect_indices(-2, 2LL, {-2, -1, 0, 1});
    expect_indices(5U, std::uint64_t{8}, {5, 6, 7});
    expect_indices(std::uint8_t{253}, std::uint8_t{255}, {253, 254});
    expect_indices('a', 'd', {'a', 'b', 'c'});
  });
}

TEST_P(for_index, takes_negative_bounds) {
  pool.run([] {
    expect_indices(-5, -2, {-5, -4, -3});
    expect_indices(std::int64_t{-1}, std::int64_t{2}, {-1, 0, 1});
  });
}

TEST_P(for_index, takes_bounds_at_the_limits_of_their_type) {
  pool.run([] {
    constexpr auto int_max = std::numeric_limits<int>::max();
    constexpr auto int_min = std::numeric_limits<int>::min();
    constexpr auto long_max = std::numeric_limits<std::int64_t>::max();
    constexpr auto long_min = std::numeric_limits<std::int64_t>::min();
    constexpr auto size_max = std::numeric_limits<std::uint64_t>::max();
    expect_indices(int_max - 2, int_max, {int_max - 2, int_max - 1});
    expect_indices(int_min, int_min + 2, {int_min, int_min + 1});
    expect_indices(long_max - 2, long_max, {long_max - 2, long_max - 1});
    expect_indices(long_min, long_min + 1, {long_min});
    expect_indices(size_max - 1, size_max, {size_max - 1});
  });
}

TEST_P(for_index, does_nothing_for_empty_and_reversed_bounds) {
  bool ran = false;
  auto const mark = [&](auto) { ran = true; };
  pool.run([&] {
    rubato::for_index(0, 0, mark);
    rubato::for_index(7, 7U, mark);
    rubato::for_index(5, -5, mark);
    rubato::for_index(1, 0, mark);
    rubato::for_index(std::numeric_limits<int>::max(), std::numeric_limits<int>::min(), mark);
    rubato::for_index(std::numeric_limits<std::uint64_t>::max(), std::uint64_t{0}, mark);
  });
  EXPECT_FALSE(ran);
}

TEST_P(for_index, runs_every_index_once_for_every_length) {
  for (std::size_t const length : {1U, 2U, 3U, 31U, 64U, 65U, 1000U, 4095U, 4096U, 4097U, 100'000U}) {
    tally ran(length);
    pool.run([&] { rubato::for_index(std::size_t{0}, length, [&](std::size_t i) { ran.hit(i); }); });
    ran.expect_each_once();
  }
}

TEST_P(for_index, runs_ten_million_indices_once) {
  std::size_t const length = sized(10'000'000);
  std::vector<unsigned char> counts(length); // a byte per index: no two threads share one if each runs once
  pool.run([&] { rubato::for_index(std::size_t{0}, length, [&](std::size_t i) { ++counts[i]; }); });
  EXPECT_EQ(static_cast<std::size_t>(std::count(counts.begin(), counts.end(), 1)), length);
}

TEST_P(for_index, nests) {
  tally ran(100 * 100);
  pool.run([&] {
    rubato::for_index(0, 100,
                      [&](int i) { rubato::for_index(0, 100, [&](int k) { ran.hit(i * 100 + k); }); });
  });
  ran.expect_each_once();
}

TEST_P(for_index, nests_in_joins_and_joins_nest_in_it) {
  tally ran(4 * 1000);
  auto const quarter = [&](int from) {
    rubato::for_index(from, from + 1000, [&](int i) {
      rubato::join(
          [&] {
            if (i % 2 == 0) ran.hit(i);
          },
          [&] {
            if (i % 2 != 0) ran.hit(i);
          });
    });
  };
  pool.run([&] {
    rubato::join([&] { rubato::join([&] { quarter(0); }, [&] { quarter(1000); }); },
                 [&] { rubato::join([&] { quarter(2000); }, [&] { quarter(3000); }); });
  });
  ran.expect_each_once();
}

TEST_P(for_index, runs_bodies_that_differ_a_thousandfold_in_length) {
  tally ran(5'000);
  std::atomic<int> sink{0};
  pool.run([&] {
    rubato::for_index(0, 5'000, [&](int i) {
      if (i % 97 == 0) {
        for (int k = 0; k != 10'000; ++k) sink.fetch_add(1, std::memory_order_relaxed);
      }
      ran.hit(i);
    });
  });
  ran.expect_each_once();
}

TEST_P(for_index, takes_bodies_that_only_move_or_do_neither) {
  std::atomic<int> sum{0};
  struct pinned_body {
    std::atomic<int>& sum;
    explicit pinned_body(std::atomic<int>& s)
        : sum(s) {}
    pinned_body(pinned_body const&) = delete;
    pinned_body& operator=(pinned_body const&) = delete;
    ~pinned_body() = default;
    void operator()(int i) const { sum += i; }
  } const named(sum);
  pool.run([&] {
    rubato::for_index(0, 100, [&, p = std::make_unique<int>(2)](int i) { sum += *p * i; });
    rubato::for_index(0, 100, named);
  });
  EXPECT_EQ(sum.load(), 3 * 4950);
}

TEST_P(for_index, shows_what_was_written_in_it_when_it_returns) {
  for (int round = 0; round != 200; ++round) {
    std::vector<int> squares(50);
    pool.run([&] {
      rubato::for_index(0, 50, [&](int i) { squares[static_cast<std::size_t>(i)] = i * i + round; });
      for (int i = 0; i != 50; ++i) ASSERT_EQ(squares[static_cast<std::size_t>(i)], i * i + round);
    });
  }
}

TEST_P(for_index, on_a_named_pool_runs_there) {
  std::atomic<int> here{0};
  rubato::for_index(pool, 0, 100, [&](int) { here += rubato::current_pool() == &pool; });
  EXPECT_EQ(here.load(), 100);
}

TEST_P(parallel_indices, runs_as_many_bodies_as_there_are_workers) {
  rendezvous all(GetParam());
  std::atomic<unsigned> met{0};
  pool.run([&] { rubato::for_index(0U, GetParam(), [&](unsigned) { met += all.meet(); }); });
  EXPECT_EQ(met.load(), GetParam());
}

TEST(for_index_from_outside, uses_the_global_pool) {
  hang_guard const guard;
  auto* const global = &rubato::pool::global();
  std::atomic<int> here{0};
  rubato::for_index(0, 100, [&](int) { here += rubato::current_pool() == global; });
  rubato::for_range(0, 100,
                    [&](int low, int high) { here += (rubato::current_pool() == global) * (high - low); });
  EXPECT_EQ(here.load(), 200);
  EXPECT_EQ(rubato::current_pool(), nullptr);
}

TEST_P(for_range, covers_everything_once_in_nonempty_pieces) {
  for (std::size_t const length : {1U, 2U, 3U, 100U, 4097U, 1'000'000U}) {
    std::vector<unsigned char> counts(length);
    std::atomic<int> bad{0};
    pool.run([&] {
      rubato::for_range(std::size_t{0}, length, [&](std::size_t low, std::size_t high) {
        if (low >= high || high > length) {
          ++bad;
          return;
        }
        for (std::size_t i = low; i != high; ++i) ++counts[i];
      });
    });
    EXPECT_EQ(bad.load(), 0);
    EXPECT_EQ(static_cast<std::size_t>(std::count(counts.begin(), counts.end(), 1)), length);
  }
}

TEST_P(for_range, takes_bounds_of_different_types_and_none) {
  std::atomic<long> sum{0};
  bool ran = false;
  pool.run([&] {
    rubato::for_range(-10, 20L, [&](auto low, auto high) {
      static_assert(std::is_same_v<decltype(low), long> && std::is_same_v<decltype(high), long>);
      for (long i = low; i != high; ++i) sum += i;
    });
    auto const mark = [&](auto, auto) { ran = true; };
    rubato::for_range(3, 3, mark);
    rubato::for_range(3, -3, mark);
    rubato::for_range(std::uint64_t{9}, 8U, mark);
  });
  EXPECT_EQ(sum.load(), 135);
  EXPECT_FALSE(ran);
}

TEST_P(for_range, splits_ranges_longer_than_their_type_can_count) {
  constexpr auto first = std::numeric_limits<int>::min();
  constexpr auto last = std::numeric_limits<int>::max();
  std::atomic<std::uint64_t> covered{0};
  pool.run([&] {
    rubato::for_range(first, last, [&](int low, int high) {
      covered += static_cast<std::uint64_t>(std::int64_t{high} - std::int64_t{low});
    });
  });
  EXPECT_EQ(covered.load(), std::numeric_limits<std::uint32_t>::max());
}

} // namespace
