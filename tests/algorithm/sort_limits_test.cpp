// sort: how deep the stack gets, how often the comparator is called, and that few elements start no pool.
#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "support/pools.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/stack_meter.hpp"

#include <rubato/algorithm/order.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace rubato_test;

namespace {

class sort_limits : public on_workers {};
RUBATO_TEST_WITH_WORKERS(sort_limits, all_counts);

/// M. D. McIlroy's adversary (A Killer Adversary for Quicksort, 1999): decides what the elements are while
/// they are compared, so that each pivot is as bad as can be. The calls are made one at a time.
class adversary {
  std::vector<int> value_;
  int solid_ = 0, candidate_ = 0;
  int const gas_;

public:
  std::size_t calls = 0;
  explicit adversary(std::size_t n)
      : value_(n, static_cast<int>(n))
      , gas_(static_cast<int>(n)) {}
  bool operator()(int x, int y) {
    ++calls;
    auto& a = value_[static_cast<std::size_t>(x)];
    auto& b = value_[static_cast<std::size_t>(y)];
    if (a == gas_ && b == gas_) (x == candidate_ ? a : b) = solid_++;
    if (a == gas_)
      candidate_ = x;
    else if (b == gas_)
      candidate_ = y;
    return a < b;
  }
};

TEST(sort_calls, are_at_most_some_n_log_n_for_any_input) {
  rubato::pool alone(rubato::no_workers);
  std::size_t const n = sized(200'000);
  std::vector<int> v = input_of(shape::sorted, n);
  adversary against(n);
  alone.run([&] { rubato::sort(v, [&against](int a, int b) { return against(a, b); }); });
  EXPECT_LE(against.calls, 6 * n * static_cast<std::size_t>(std::bit_width(n)));
  std::ranges::sort(v);
  EXPECT_EQ(v, input_of(shape::sorted, n)) << "each element once";
}

TEST(sort_calls, are_some_n_for_what_is_a_run_or_has_few_values) {
  rubato::pool alone(rubato::no_workers);
  std::size_t const n = sized(1'000'000);
  auto const calls_for = [&](shape s) {
    auto v = input_of(s, n);
    std::size_t calls = 0;
    alone.run([&] {
      rubato::sort(v, [&calls](int a, int b) {
        ++calls;
        return a < b;
      });
    });
    EXPECT_TRUE(std::ranges::is_sorted(v));
    return calls;
  };
  EXPECT_LE(calls_for(shape::sorted), n + 1'000);
  EXPECT_LE(calls_for(shape::reversed), n + 1'000);
  EXPECT_LE(calls_for(shape::constant), n + 1'000);
  EXPECT_LE(calls_for(shape::ten_values), 8 * n);
}

TEST_P(sort_limits, of_the_stack_hold_while_other_sorts_run) {
  stack_meter meter;
  auto const compare = [&meter](int a, int b) {
    meter.touch();
    return a < b;
  };
  auto const n = static_cast<std::size_t>(sized(300'000));
  auto const rounds = sized(300);
  for (shape const s : {shape::sorted, shape::organ_pipe, shape::median_of_3_killer, shape::random}) {
    auto v = input_of(s, n);
    rubato::with_scope(pool, [&](rubato::scope& scope) {
      for (std::size_t i = 0; i != rounds; ++i)
        scope.spawn([&compare, i] {
          auto other = input_of(shape::random, 3'000, i);
          rubato::sort(other, compare);
          if (!std::ranges::is_sorted(other)) throw std::logic_error("not sorted");
        });
      rubato::sort(v, compare);
    });
    EXPECT_TRUE(std::ranges::is_sorted(v));
  }
  if (!under_asan && !under_tsan) {
    EXPECT_LE(meter.extent(), std::size_t{64} << 10U);
  }
}

TEST(sort_on_small_stacks, sort_long_inputs) {
  rubato::pool small(rubato::pool_options().workers(2).stack_size(std::size_t{256} << 10U));
  std::size_t const n = sized(std::size_t{3'000'000});
  for (shape const s : {shape::sorted, shape::organ_pipe, shape::median_of_3_killer}) {
    auto v = input_of(s, n);
    small.spawn([&v] { rubato::sort(v, [](int a, int b) { return a < b; }); }).get();
    EXPECT_TRUE(std::ranges::is_sorted(v)) << name_of(s);
  }
}

class sort_of_few : public fresh_process {};

TEST_F(sort_of_few, starts_no_pool) {
  EXPECT_EXIT(
      {
        auto v = input_of(shape::random, 2'000);
        rubato::sort(v);
        rubato::sort(std::in_place, v, std::greater<>());
        static_cast<void>(rubato::is_sorted(v));
        rubato::pool::configure_global(rubato::pool_options().workers(1)); // throws after the first use
        leave(true, "untouched");
      },
      testing::ExitedWithCode(0), "untouched");
}

} // namespace
