// Orders and partitions: that few elements start no pool, how deep the stack gets, how often comparators are
// called.
#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "support/pools.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/stack_meter.hpp"

#include <rubato/algorithm/copies.hpp>
#include <rubato/algorithm/order.hpp>
#include <rubato/pool.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

using namespace rubato_test;

namespace {

class orders_of_few : public fresh_process {};

TEST_F(orders_of_few, start_no_pool) {
  EXPECT_EXIT(
      {
        auto v = input_of(shape::random, 2'000);
        auto const positive = [](int x) { return x > 0; };
        std::vector<int> out(v.size());
        rubato::partition(v, positive);
        rubato::nth_element(v, v.begin() + 700);
        rubato::stable_sort(v, [](int a, int b) { return a < b; });
        rubato::merge(v.begin(), v.begin() + 1'000, v.begin() + 1'000, v.end(), out.begin());
        v.resize(1'000); // from 1,024 on it depends on the time that they take
        rubato::stable_partition(v, positive);
        rubato::unique(v);
        rubato::remove_if(v, positive);
        rubato::pool::configure_global(rubato::pool_options().workers(1)); // throws after the first use
        leave(true, "untouched");
      },
      testing::ExitedWithCode(0), "untouched");
}

class order_limits : public on_workers {};
RUBATO_TEST_WITH_WORKERS(order_limits, all_counts);

TEST_P(order_limits, keep_the_stack_shallow) {
  stack_meter meter;
  auto const order = [&meter](int a, int b) {
    meter.touch();
    return a < b;
  };
  std::size_t const n = sized(300'000);
  for (shape const s : {shape::organ_pipe, shape::median_of_3_killer, shape::random}) {
    auto v = input_of(s, n);
    pool.run([&] {
      rubato::nth_element(v, v.begin() + std::ssize(v) / 3, order);
      rubato::stable_sort(v, order);
    });
    EXPECT_TRUE(std::ranges::is_sorted(v));
  }
  if (under_asan || under_tsan) return;
  EXPECT_LE(meter.extent(), std::size_t{64} << 10U);
}

TEST(stable_sort_calls, are_one_pass_for_what_is_sorted) {
  std::size_t const n = sized(300'000);
  for (shape const s : {shape::sorted, shape::reversed, shape::constant}) {
    auto v = input_of(s, n);
    std::size_t calls = 0;
    rubato::stable_sort(v, [&calls](int a, int b) {
      ++calls;
      return a < b;
    });
    EXPECT_TRUE(std::ranges::is_sorted(v));
    EXPECT_LE(calls, n);
  }
}

TEST(stable_sort_of_zeros, keeps_their_signs_in_order) {
  std::vector<double> v(100'000);
  for (std::size_t i = 0; i != v.size(); ++i)
    v[i] = i % 3 == 0 ? -0.0 : i % 3 == 1 ? 0.0 : 1.0 - double(i % 7);
  auto const is_zero = [](double x) { return x == 0; };
  std::vector<bool> signs;
  for (double const x : v)
    if (is_zero(x)) signs.push_back(std::signbit(x));
  rubato::stable_sort(v);
  ASSERT_TRUE(std::ranges::is_sorted(v));
  auto zero = std::ranges::find_if(v, is_zero);
  for (bool const negative : signs) ASSERT_EQ(std::signbit(*zero++), negative);
}

} // namespace
