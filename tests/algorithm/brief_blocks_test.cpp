// How a caller begins alone while the pool sleeps.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/rendezvous.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/cancelled.hpp>
#include <rubato/detail/algorithm/brief_blocks.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace rubato_test;
namespace detail = rubato::detail;

namespace {

class brief_blocks : public on_workers {
protected:
  void await_sleep() {
    while (!detail::sleeps(&pool)) std::this_thread::yield();
  }
};
RUBATO_TEST_WITH_WORKERS(brief_blocks, counts_with_workers);

TEST_P(brief_blocks, are_made_alone_until_one_returns_false) {
  await_sleep();
  std::uint64_t next = 5;
  std::uint64_t const end = detail::blocks_alone(&pool, 5, 98, 10, [&](std::uint64_t lo, std::uint64_t hi) {
    EXPECT_EQ(lo, next);
    EXPECT_EQ(hi, lo + 10);
    next = hi;
    return lo != 35;
  });
  EXPECT_EQ(end, next);
  EXPECT_GT(end, 5U);
  EXPECT_LE(end, 45U); // less, if this thread did not run for a while
}

TEST_P(brief_blocks, are_shared_when_one_was_long) {
  await_sleep();
  int blocks = 0;
  EXPECT_EQ(detail::blocks_alone(&pool, 0, 100, 1,
                                 [&](std::uint64_t, std::uint64_t) {
                                   ++blocks;
                                   std::this_thread::sleep_for(std::chrono::milliseconds(2));
                                   return true;
                                 }),
            1U);
  EXPECT_EQ(blocks, 1);
}

TEST_P(brief_blocks, are_shared_if_no_seat_is_vacant) {
  milestone release;
  arrivals busy;
  for (unsigned i = 0; i != GetParam(); ++i)
    pool.enqueue([&] {
      busy.arrive();
      ASSERT_TRUE(release.wait());
    });
  ASSERT_TRUE(busy.wait_for(GetParam()));
  EXPECT_EQ(detail::blocks_alone(&pool, 7, 100, 1, [](std::uint64_t, std::uint64_t) { return true; }), 7U);
  release.reach();
  pool.wait_idle();
}

TEST_P(brief_blocks, are_each_made_once_and_in_whole) {
  for (std::uint64_t const n : {1U, 99U, 100U, 101U, 1000U}) {
    for (int round = 0; round != 20; ++round) {
      if (round % 2 == 0) await_sleep();
      std::vector<unsigned char> made(n);
      detail::for_brief_blocks(&pool, n, 100, [&](std::uint64_t lo, std::uint64_t hi) {
        EXPECT_EQ(lo % 100, 0U);
        EXPECT_TRUE(hi % 100 == 0 || hi == n);
        for (; lo != hi; ++lo) ++made[lo];
        if (round % 4 < 2) std::this_thread::sleep_for(std::chrono::microseconds(30));
      });
      EXPECT_EQ(made, std::vector<unsigned char>(n, 1));
    }
  }
}

TEST_P(brief_blocks, end_with_the_first_exception) {
  await_sleep();
  std::vector<int> v(100'000, 1);
  for (std::size_t const at : {std::size_t{100}, std::size_t{5000}, std::size_t{99'999}}) {
    v[at] = 0;
    EXPECT_THROW(rubato::transform(pool, v, v.begin(),
                                   [](int x) { return x != 0 ? x : throw std::runtime_error("here"); }),
                 std::runtime_error);
    v[at] = 1;
  }
}

TEST_P(brief_blocks, see_a_stop_of_the_scope) {
  std::vector<int> v(1'000'000, 1);
  for (int round = 0; round != 4; ++round) {
    if (round % 2 == 0) await_sleep();
    rubato::with_scope(pool, [&](rubato::scope& s) {
      s.request_stop();
      EXPECT_THROW(rubato::transform(v, v.begin(), [](int x) { return x; }), rubato::cancelled);
      EXPECT_THROW(static_cast<void>(rubato::reduce(v, 0, std::plus<>())), rubato::cancelled);
    });
  }
}

/// Without a state, so it may be brief; but it is not known to be.
struct noted_sum {
  static inline std::atomic<rubato::pool*> within{nullptr};
  int operator()(int a, int b) const {
    if (rubato::pool* const p = rubato::current_pool()) within = p;
    return a + b;
  }
};

TEST_P(brief_blocks, regression_an_unknown_operator_is_not_brief) {
  std::vector<int> const v(100'000, 1);
  std::vector<int> out(v.size());
  await_sleep();
  noted_sum::within = nullptr;
  rubato::inclusive_scan(pool, v, out.begin(), noted_sum());
  EXPECT_EQ(out.back(), 100'000);
  EXPECT_EQ(noted_sum::within.load(), &pool);
}

TEST_P(brief_blocks, of_any_algorithm_give_the_serial_result) {
  std::vector<int> v(100'000);
  std::iota(v.begin(), v.end(), -50'000);
  for (int round = 0; round != 20; ++round) {
    if (round % 2 == 0) await_sleep();
    std::vector<int> out(v.size());
    EXPECT_EQ(rubato::reduce(pool, v, 0, std::plus<>()), -50'000);
    EXPECT_EQ(rubato::min_element(pool, v) - v.begin(), 0);
    EXPECT_EQ(rubato::max_element(pool, v) - v.begin(), 99'999);
    EXPECT_EQ(rubato::find(pool, v, 49'000) - v.begin(), 99'000);
    EXPECT_EQ(rubato::find(pool, v, 50'000), v.end());
    EXPECT_EQ(rubato::count(pool, v, 7), 1);
    rubato::transform(pool, v, out.begin(), [](int x) { return x + 1; });
    EXPECT_EQ(out.front(), -49'999);
    EXPECT_EQ(out.back(), 50'000);
    rubato::inclusive_scan(pool, v, out.begin());
    EXPECT_EQ(out.back(), -50'000);
    rubato::copy(pool, v, out.begin());
    EXPECT_EQ(out, v);
  }
}

} // namespace
