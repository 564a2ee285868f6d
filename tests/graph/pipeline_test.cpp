// Pipelines: order, limits, overlap, coroutine stages.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

#include <rubato/rubato.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

using namespace rubato_test;
using rubato::parallel;
using rubato::serial;
using rubato::serial_in_order;
using rubato::stage;

namespace {

using namespace std::chrono_literals;

class pipelines : public on_workers {};
RUBATO_TEST_WITH_WORKERS(pipelines, all_counts);

/// Returns 0, 1, ... n - 1.
auto numbers(std::size_t n) {
  return [n, next = std::size_t{0}]() mutable -> std::optional<std::size_t> {
    if (next == n) return std::nullopt;
    return next++;
  };
}

TEST_P(pipelines, items_keep_the_order_of_the_source) {
  for (std::size_t const limit :
       {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{100}, std::size_t{1'000'000}}) {
    std::size_t const n = sized(20'000);
    std::vector<std::size_t> out; // plain: the stage is serial
    std::atomic<std::size_t> now{0}, most{0};
    rubato::pipeline(pool, limit, stage(serial, numbers(n)),
                     stage(parallel,
                           [&](std::size_t i) {
                             std::size_t const k = ++now;
                             for (std::size_t m = most; m < k && !most.compare_exchange_weak(m, k);) {
                             }
                             if (i % 64 == 0) std::this_thread::yield();
                             --now;
                             return std::make_unique<std::size_t>(i);
                           }),
                     stage(serial_in_order, [&](std::unique_ptr<std::size_t> i) { return *i + 1; }),
                     stage(serial_in_order, [&](std::size_t i) { out.push_back(i - 1); }));
    std::vector<std::size_t> expected(n);
    std::iota(expected.begin(), expected.end(), std::size_t{0});
    ASSERT_EQ(out, expected);
    ASSERT_LE(most, limit);
  }
}

/// Counts the objects of its type that exist.
struct counted {
  static inline std::atomic<int> alive{0}, most{0};
  std::size_t number;
  explicit counted(std::size_t n)
      : number(n) {
    int const k = ++alive;
    for (int m = most; m < k && !most.compare_exchange_weak(m, k);) {
    }
  }
  counted(counted&& o) noexcept
      : number(o.number) {
    ++alive;
  }
  counted& operator=(counted&&) = delete;
  ~counted() { --alive; }
};

TEST_P(pipelines, no_more_items_are_in_flight_than_the_limit) {
  for (std::size_t const limit : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
    std::atomic<std::size_t> in_flight{0}, most{0}, done{0};
    std::size_t const n = sized(3'000);
    rubato::pipeline(pool, limit,
                     stage(serial,
                           [&, source = numbers(n)]() mutable {
                             std::size_t const k = ++in_flight;
                             if (most < k) most = k; // the source is serial
                             auto i = source();
                             if (!i) --in_flight;
                             return i;
                           }),
                     stage(parallel, [](std::size_t i) { return i; }),
                     stage(serial, [](std::size_t i) { return i; }),
                     stage(serial_in_order, [&](std::size_t i) {
                       ASSERT_EQ(i, done);
                       ++done;
                       --in_flight;
                     }));
    ASSERT_EQ(done, n);
    ASSERT_LE(most, limit);
  }
}

TEST_P(pipelines, zero_items_in_flight_are_refused) {
  EXPECT_THROW(rubato::pipeline(pool, 0, stage(serial, numbers(1)), stage(serial, [](std::size_t) {})),
               std::invalid_argument);
}

TEST_P(pipelines, an_empty_source_and_a_single_item) {
  for (std::size_t const n : {std::size_t{0}, std::size_t{1}}) {
    std::size_t seen = 0;
    rubato::pipeline(pool, 4, stage(serial, numbers(n)), stage(serial, [&](std::size_t) { ++seen; }));
    ASSERT_EQ(seen, n);
  }
}

TEST_P(pipelines, an_optional_in_the_middle_is_a_value) {
  int empty = 0, full = 0;
  rubato::pipeline(
      pool, 8, stage(serial, numbers(100)),
      stage(parallel, [](std::size_t i) { return i % 2 == 0 ? std::optional(i) : std::nullopt; }),
      stage(serial, [&](std::optional<std::size_t> i) { ++(i ? full : empty); }));
  EXPECT_EQ(empty, 50);
  EXPECT_EQ(full, 50);
}

TEST_P(pipelines, references_are_passed_on) {
  std::vector<int> v(100, 1);
  rubato::pipeline(pool, 8, stage(serial, numbers(v.size())),
                   stage(parallel, [&](std::size_t i) -> int& { return v[i]; }),
                   stage(parallel, [](int& x) -> int& { return ++x; }), stage(serial, [](int& x) { ++x; }));
  EXPECT_EQ(v, std::vector<int>(100, 3));
}

/// Counts its moves.
struct moves {
  int times = 0;
  moves() = default;
  moves(moves&& o) noexcept
      : times(o.times + 1) {}
  moves& operator=(moves&&) = delete;
};

TEST_P(pipelines, an_item_moves_at_most_once_per_stage) {
  int most = 0;
  rubato::pipeline(pool, 8,
                   stage(serial,
                         [n = 0]() mutable {
                           std::optional<moves> m;
                           if (n++ != 100) m.emplace();
                           return m;
                         }),
                   stage(parallel, [](moves m) { return m; }),
                   stage(serial, [](moves&& m) { return std::move(m); }),
                   stage(serial, [&](moves m) { most = std::max(most, m.times); }));
  EXPECT_LE(most, 1 + 2 + 1 + 1); // the source's own return; by value in and out; out; in
}

TEST_P(pipelines, serial_stages_run_one_item_at_a_time) {
  std::vector<std::atomic<int>> in(3);
  std::atomic<int> wrong{0};
  auto const alone = [&](std::size_t s) {
    return [&, s](std::size_t i) {
      if (++in[s] != 1) ++wrong;
      if (i % 16 == 0) std::this_thread::yield();
      --in[s];
      return i;
    };
  };
  std::size_t done = 0;
  std::size_t const n = sized(5'000);
  rubato::pipeline(pool, 64, stage(serial, numbers(n)), stage(serial, alone(0)),
                   stage(serial_in_order, alone(1)), stage(parallel, [](std::size_t i) { return i; }),
                   stage(serial, alone(2)), stage(serial, [&](std::size_t) { ++done; }));
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(done, n);
}

TEST_P(pipelines, coroutine_stages) {
  std::vector<std::size_t> out;
  std::atomic<int> in{0}, wrong{0};
  std::size_t const n = sized(300);
  rubato::pipeline(pool, 16,
                   stage(serial,
                         [source = numbers(n)]() mutable -> rubato::task<std::optional<std::size_t>> {
                           auto i = source();
                           if (i && *i % 7 == 0) co_await rubato::yield();
                           co_return i;
                         }),
                   stage(parallel,
                         [](std::size_t i) -> rubato::task<std::size_t> {
                           if (i % 3 == 0) co_await rubato::yield();
                           if (i % 50 == 0) co_await rubato::sleep_for(1ms);
                           co_return i;
                         }),
                   stage(serial_in_order,
                         [&](std::size_t i) -> rubato::task<std::size_t> {
                           if (++in != 1) ++wrong;
                           if (i % 2 == 0) co_await rubato::yield();
                           --in;
                           co_return i;
                         }),
                   stage(serial_in_order, [&](std::size_t i) { out.push_back(i); }));
  ASSERT_EQ(out.size(), n);
  EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
  EXPECT_EQ(wrong, 0);
}

TEST_P(pipelines, awaited_by_a_coroutine) {
  std::vector<std::size_t> out;
  auto const job = [](std::vector<std::size_t>& to) -> rubato::task<> {
    auto work = rubato::async_pipeline(8, stage(serial, numbers(100)),
                                       stage(parallel,
                                             [](std::size_t i) -> rubato::task<std::size_t> {
                                               co_await rubato::yield();
                                               co_return i;
                                             }),
                                       stage(serial_in_order, [&to](std::size_t i) { to.push_back(i); }));
    co_await std::move(work);
  };
  rubato::spawn(pool, job(out)).get();
  EXPECT_EQ(out.size(), 100U);
  EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
}

/// Each stage waits until all four have met: they overlap, or the test hangs.
TEST(pipelines_in_parallel, serial_stages_overlap) {
  rubato::pool pool(4);
  std::atomic<int> inside{0}, most{0};
  auto const slow = [&](std::size_t i) {
    int const k = ++inside;
    for (int m = most; m < k && !most.compare_exchange_weak(m, k);) {
    }
    std::this_thread::sleep_for(200us);
    --inside;
    return i;
  };
  std::size_t done = 0;
  for (unsigned round = 0; round != 100 && most < 4; ++round)
    rubato::pipeline(pool, 32, stage(serial, numbers(100)), stage(serial_in_order, slow), stage(serial, slow),
                     stage(serial_in_order, slow), stage(serial_in_order, [&](std::size_t i) {
                       slow(i);
                       ++done;
                     }));
  EXPECT_EQ(most, 4);
  EXPECT_EQ(done % 100, 0U);
}

/// A source that waits until its last item has gone through: items must not be held back for a batch.
TEST_P(pipelines, a_source_may_wait_for_its_own_items) {
  if (GetParam() == 1) GTEST_SKIP() << "the thread outside runs beside the worker, or alone";
  std::atomic<std::size_t> through{0};
  std::size_t const n = sized(2'000);
  bool hung = false;
  rubato::pipeline(pool, GetParam() == 0 ? 1 : 64,
                   stage(serial,
                         [&, next = std::size_t{0}]() mutable -> std::optional<std::size_t> {
                           if (next == n) return std::nullopt;
                           if (next % 500 == 499) hung = hung || !eventually([&] { return through == next; });
                           return next++;
                         }),
                   stage(parallel, [](std::size_t i) { return i; }),
                   stage(serial, [&](std::size_t) { ++through; }));
  EXPECT_FALSE(hung);
  EXPECT_EQ(through, n);
}

TEST_P(pipelines, a_nested_loop_takes_no_outer_item) {
  static thread_local int level = 0;
  std::atomic<int> nested{0};
  std::atomic<long> sum{0};
  rubato::pipeline(pool, 16, stage(serial, numbers(sized(300))),
                   stage(parallel,
                         [&](std::size_t i) {
                           if (level != 0) ++nested;
                           ++level;
                           rubato::for_index(pool, 0, 50, [&](int) { ++sum; });
                           --level;
                           return i;
                         }),
                   stage(serial, [](std::size_t) {}));
  EXPECT_EQ(nested, 0);
}

} // namespace
