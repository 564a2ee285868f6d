// reduce of numbers and of pairs, at every seam between the blocks of its inner loops.
#include <gtest/gtest.h>

#if defined(RUBATO_HAS_RAPIDCHECK)
#include <rapidcheck.h>
#endif

#include "algorithm/inputs.hpp"
#include "algorithm/lengths.hpp"
#include "algorithm/numbers.hpp"
#include "support/pools.hpp"
#include "support/values.hpp"

#include <rubato/algorithm/sums.hpp>
#include <rubato/cancelled.hpp>
#include <rubato/pool_options.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace rubato_test;

namespace {

class reduce_numbers : public on_workers {};
RUBATO_TEST_WITH_WORKERS(reduce_numbers, all_counts);

TEST_P(reduce_numbers, to_the_exact_sum_at_every_seam) {
  auto const all = some_numbers<int>((1U << 20U) + 1);
  std::int64_t expected = 7;
  int lowest = 1'000;
  std::size_t at = 0;
  for (auto const n : seam_lengths()) {
    for (; at != n; ++at) {
      expected += all[at];
      lowest = std::min(lowest, all[at]);
    }
    auto const end = all.begin() + static_cast<std::ptrdiff_t>(n);
    ASSERT_EQ(rubato::reduce(pool, all.begin(), end, 7, std::plus<>()), static_cast<int>(expected)) << n;
    ASSERT_EQ(rubato::reduce(pool, all.begin(), end, std::int64_t{7}, std::plus<>()), expected) << n;
    ASSERT_EQ(rubato::reduce(pool, all.begin(), end, 1'000, [](int a, int b) { return b < a ? b : a; }),
              lowest);
  }
}

TEST_P(reduce_numbers, to_sums_of_doubles_as_near_as_n_roundings) {
  auto const all = some_numbers<double>((1U << 20U) + 1);
  long double expected = 0.5L, magnitude = 0.5L;
  std::size_t at = 0;
  for (auto const n : seam_lengths()) {
    for (; at != n; ++at) {
      expected += all[at];
      magnitude += std::abs(all[at]);
    }
    auto const end = all.begin() + static_cast<std::ptrdiff_t>(n);
    auto const allowed = static_cast<double>(magnitude) * 2.3e-16 * static_cast<double>(n + 1);
    auto const add = [](double a, double b) { return a + b; };
    ASSERT_NEAR(rubato::reduce(pool, all.begin(), end, 0.5, std::plus<>()), double(expected), allowed) << n;
    ASSERT_NEAR(rubato::reduce(pool, all.begin(), end, 0.5, add), double(expected), allowed) << n;
  }
}

TEST_P(reduce_numbers, by_the_operators_that_a_processor_has) {
  auto const numbers = some_numbers<std::uint16_t>(40'000);
  auto const first = numbers.begin(), last = numbers.end();
  auto const check = [&](auto op, std::uint16_t init) {
    EXPECT_EQ(rubato::reduce(pool, numbers, init, op), std::accumulate(first, last, init, op));
  };
  check(std::plus<std::uint16_t>(), 3);
  check(std::multiplies<>(), 5);
  check(std::bit_xor<>(), 0);
  check(std::bit_or<>(), 0);
  check(std::bit_and<>(), 0xffff);
}

TEST_P(reduce_numbers, whose_sums_of_parts_would_overflow) {
  // Each sum of a serial loop fits, and each sum of some of the parts does not.
  std::vector<int> numbers(50'000);
  for (std::size_t i = 0; i != numbers.size(); ++i)
    numbers[i] = (i / 2) % 2 == 0 ? 2'000'000'000 : -2'000'000'000;
  for (std::size_t i = 0; i != numbers.size(); i += 4) std::swap(numbers[i + 1], numbers[i + 2]);
  EXPECT_EQ(rubato::reduce(pool, numbers, 5, std::plus<>()), 5);
}

/// Numbers whose sums from the first one on fit into T. Those of other parts do not.
template<class T>
std::vector<T> with_sums_that_fit(std::size_t n) {
  std::vector<T> made;
  scattered next(n);
  for (T sum = 0; made.size() != n; sum = static_cast<T>(sum + made.back())) {
    auto const step = static_cast<T>(static_cast<T>(next()) / 2);
    bool const fits =
        sum < 0 ? step > std::numeric_limits<T>::min() - sum : step < std::numeric_limits<T>::max() - sum;
    made.push_back(fits ? step : static_cast<T>(-step));
  }
  return made;
}

template<class T>
void add_up_what_overflows_in_parts(rubato::pool& pool) {
  for (std::size_t const n : {3U, 7U, 20U, 1'000U, 40'001U, 200'003U}) {
    auto const numbers = with_sums_that_fit<T>(n);
    std::vector<T> expected(n), sums(n);
    std::partial_sum(numbers.begin(), numbers.end(), expected.begin());
    ASSERT_EQ(rubato::reduce(pool, numbers, T{}, std::plus<>()), expected.back());
    ASSERT_EQ(rubato::reduce(pool, numbers, T{}, std::plus<T>()), expected.back());
    rubato::inclusive_scan(pool, numbers, sums.begin());
    ASSERT_EQ(sums, expected);
  }
}
TEST_P(reduce_numbers, regression_without_overflow_of_parts) { // as a sanitizer sees it
  add_up_what_overflows_in_parts<short>(pool);
  add_up_what_overflows_in_parts<int>(pool);
  add_up_what_overflows_in_parts<std::int64_t>(pool);
  std::vector<std::int16_t> const factors(10'000, -181);
  EXPECT_EQ(rubato::reduce(pool, factors, std::int16_t{1}, std::multiplies<>()),
            std::accumulate(factors.begin(), factors.end(), std::int16_t{1}, std::multiplies<>()));
}

TEST_P(reduce_numbers, in_order_with_operators_that_do_not_commute) {
  // x -> ax + b modulo 2^32, in one number.
  auto const then = [](std::uint64_t f, std::uint64_t g) {
    std::uint32_t const fa = static_cast<std::uint32_t>(f >> 32U), fb = static_cast<std::uint32_t>(f);
    std::uint32_t const ga = static_cast<std::uint32_t>(g >> 32U), gb = static_cast<std::uint32_t>(g);
    return (std::uint64_t{ga * fa} << 32U) | std::uint32_t{ga * fb + gb};
  };
  auto maps = some_numbers<std::uint64_t>((1U << 17U) + 1);
  for (std::size_t i = 0; i != maps.size(); ++i) maps[i] = (i * 0x9e3779b97f4a7c15U) | (1ULL << 32U);
  std::uint64_t expected = 1ULL << 32U;
  std::size_t at = 0;
  for (auto const n : seam_lengths(1'100, 17)) {
    for (; at != n; ++at) expected = then(expected, maps[at]);
    auto const end = maps.begin() + static_cast<std::ptrdiff_t>(n);
    ASSERT_EQ(rubato::reduce(pool, maps.begin(), end, std::uint64_t{1} << 32U, then), expected) << n;
    // Not known to be brief, because its captures might be anything.
    auto const holding = [&then](std::uint64_t f, std::uint64_t g) { return then(f, g); };
    ASSERT_EQ(rubato::reduce(pool, maps.begin(), end, std::uint64_t{1} << 32U, holding), expected) << n;
  }
}

TEST_P(reduce_numbers, of_pairs) {
  auto const a = some_numbers<std::int64_t>(70'000);
  std::vector<int> b(80'000, 3); // longer, as in std::transform_reduce
  b[1] = -5;
  std::deque<std::int64_t> const queue(a.begin(), a.end());
  std::list<std::int64_t> const linked(a.begin(), a.end());
  std::multiplies<> const times;
  for (std::size_t const n : {0U, 1U, 2U, 63U, 1'000U, 32'768U, 32'769U, 70'000U}) {
    auto const end = a.begin() + static_cast<std::ptrdiff_t>(n);
    auto const expected = std::transform_reduce(a.begin(), end, b.begin(), std::int64_t{9});
    auto const some = std::views::counted(a.begin(), static_cast<std::ptrdiff_t>(n));
    EXPECT_EQ(rubato::reduce(pool, a.begin(), end, b.begin(), std::int64_t{9}, std::plus<>(), times),
              expected);
    EXPECT_EQ(rubato::reduce(pool, some, b, std::int64_t{9}, std::plus<>(), times), expected);
    EXPECT_EQ(rubato::reduce(pool, some, a, std::int64_t{9}, std::plus<>(), times),
              std::transform_reduce(a.begin(), end, a.begin(), std::int64_t{9}));
    EXPECT_EQ(rubato::reduce(pool, rubato::deterministic, some, b, std::int64_t{9}, std::plus<>(), times),
              expected);
    EXPECT_EQ(rubato::reduce(pool, queue | std::views::take(n), b, std::int64_t{9}, std::plus<>(), times),
              expected);
    EXPECT_EQ(rubato::reduce(pool, linked | std::views::take(n), b, std::int64_t{9}, std::plus<>(), times),
              expected);
  }
}

TEST_P(reduce_numbers, of_pairs_of_arrays_and_in_order) {
  int const one[] = {1, 2, 3}, two[] = {4, 5, 6};
  auto const times = [](int x, int y) { return x * y; };
  EXPECT_EQ(rubato::reduce(pool, one, two, 0, std::plus<>(), times), 32);
  EXPECT_EQ(rubato::reduce(pool, rubato::deterministic, one, two, 0, std::plus<>(), times), 32);
  EXPECT_EQ(rubato::reduce(pool, one, one + 3, 0, std::plus<>(), [](int x) { return x * x; }), 14);
  std::vector<std::string> words(3'000);
  std::string expected = "-";
  for (std::size_t i = 0; i != words.size(); ++i)
    expected += words[i] = std::to_string(i) + "=" + std::to_string(i);
  auto const with = [](std::string const& a, int b) { return a + "=" + std::to_string(b); };
  auto const texts =
      std::views::iota(0, 3'000) | std::views::transform([](int i) { return std::to_string(i); });
  EXPECT_EQ(rubato::reduce(pool, texts, std::views::iota(0), std::string("-"), std::plus<>(), with),
            expected);
}

TEST_P(reduce_numbers, to_the_same_bits_on_any_number_of_workers) {
  rubato::pool one(1);
  for (std::size_t const n : {1'000U, 32'768U, 32'769U, 100'000U, 300'000U}) {
    auto const numbers = some_numbers<double>(n);
    auto const bits = [&numbers](rubato::pool& p, auto... tag) {
      return std::bit_cast<std::uint64_t>(rubato::reduce(p, tag..., numbers, 0.25, std::plus<>()));
    };
    auto const pairs = [&numbers](rubato::pool& p) {
      return rubato::reduce(p, rubato::deterministic, numbers, numbers, 0.25, std::plus<>(),
                            std::multiplies<>());
    };
    for (int round = 0; round != 3; ++round) {
      ASSERT_EQ(bits(pool, rubato::deterministic), bits(one, rubato::deterministic)) << n;
      ASSERT_EQ(bits(pool), bits(one, rubato::deterministic)) << n;
      ASSERT_EQ(std::bit_cast<std::uint64_t>(pairs(pool)), std::bit_cast<std::uint64_t>(pairs(one))) << n;
    }
  }
}

TEST_P(reduce_numbers, passing_on_the_exception_of_an_operator) {
  std::vector<int> const ones(100'000, 1);
  auto const adds = [](int a, int b) -> int {
    if (a > 1'500 || b > 1'500) throw counted_error(6);
    return a + b;
  };
  EXPECT_EQ(thrown_by([&] { return rubato::reduce(pool, ones, 0, adds); }), 6);
  EXPECT_EQ(thrown_by([&] { return rubato::reduce(pool, rubato::deterministic, ones, 0, adds); }), 6);
}

TEST_P(reduce_numbers, unless_the_scope_around_is_stopped) {
  std::vector<int> const few(100, 1), many(100'000, 1);
  unsigned ended = 0;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.request_stop();
      for (auto const* numbers : {&few, &many}) try {
          static_cast<void>(rubato::reduce(*numbers, 0, std::plus<>()));
        } catch (rubato::cancelled const&) {
          ++ended;
        }
    });
  });
  EXPECT_EQ(ended, 2U);
}

#if defined(RUBATO_HAS_RAPIDCHECK)
TEST_P(reduce_numbers, as_std_does) {
  EXPECT_TRUE(rc::check([&](std::vector<std::uint32_t> const& numbers, std::uint32_t init) {
    RC_ASSERT(rubato::reduce(pool, numbers, init, std::plus<>()) ==
              std::accumulate(numbers.begin(), numbers.end(), init));
    RC_ASSERT(rubato::reduce(pool, numbers, numbers, init, std::plus<>(), std::bit_and<>()) ==
              std::transform_reduce(numbers.begin(), numbers.end(), numbers.begin(), init, std::plus<>(),
                                    std::bit_and<>()));
  }));
}
#endif

TEST(reduce_of_few_numbers, looks_up_no_pool) {
  auto const configure = [] { rubato::pool::configure_global(rubato::pool_options().workers(2)); };
  try {
    configure();
  } catch (std::logic_error const&) {
    GTEST_SKIP() << "another test of this process has started the global pool";
  }
  std::vector<double> const halves(32'768, 0.5);
  EXPECT_EQ(rubato::reduce(halves, 0.0, std::plus<>()), 16'384.0);
  EXPECT_EQ(rubato::reduce(halves, halves, 0.0, std::plus<>(), std::multiplies<>()), 8'192.0);
  EXPECT_NO_THROW(configure()) << "it has started the global pool";
}

} // namespace
