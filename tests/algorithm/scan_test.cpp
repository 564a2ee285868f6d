// The scans against std, at every seam and in place.
#include <gtest/gtest.h>

#if defined(RUBATO_HAS_RAPIDCHECK)
#include <rapidcheck.h>
#endif

#include "algorithm/lengths.hpp"
#include "algorithm/numbers.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <rubato/algorithm/sums.hpp>
#include <rubato/pool_options.hpp>
#include <rubato/thread_pool.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

using namespace rubato_test;

namespace {

class scan_test : public on_workers {};
RUBATO_TEST_WITH_WORKERS(scan_test, all_counts);

/// x -> ax + b modulo 2^32, in one number: does not commute. With captures it is not known to be brief.
struct composed {
  std::uint64_t operator()(std::uint64_t f, std::uint64_t g) const {
    std::uint32_t const fa = static_cast<std::uint32_t>(f >> 32U), fb = static_cast<std::uint32_t>(f);
    std::uint32_t const ga = static_cast<std::uint32_t>(g >> 32U), gb = static_cast<std::uint32_t>(g);
    return (std::uint64_t{ga * fa} << 32U) | std::uint32_t{ga * fb + gb};
  }
};
std::vector<std::uint64_t> some_maps(std::size_t n) {
  std::vector<std::uint64_t> made(n);
  for (std::size_t i = 0; i != n; ++i) made[i] = (i * 0x9e3779b97f4a7c15U) | (1ULL << 32U);
  return made;
}

/// Both scans of the first n elements of `in` by op, written behind each other's back.
template<class T, class Op>
void expect_scans_at_seams(rubato::pool& pool, std::vector<T> const& in, T init, Op op, unsigned most_bits) {
  std::vector<T> inclusive(in.size()), exclusive(in.size()), out(in.size() + 1);
  std::inclusive_scan(in.begin(), in.end(), inclusive.begin(), op, init);
  std::exclusive_scan(in.begin(), in.end(), exclusive.begin(), init, op);
  pool.run([&] {
    for (auto const n : seam_lengths(1'100, most_bits)) {
      auto const size = static_cast<std::ptrdiff_t>(n);
      auto const end = in.begin() + size;
      out[n] = T(77);
      ASSERT_TRUE(rubato::inclusive_scan(in.begin(), end, out.begin(), op, init) == out.begin() + size);
      ASSERT_TRUE(std::equal(out.begin(), out.begin() + size, inclusive.begin())) << n;
      ASSERT_EQ(out[n], T(77)) << n;
      ASSERT_TRUE(rubato::exclusive_scan(in.begin(), end, out.begin(), init, op) == out.begin() + size);
      ASSERT_TRUE(std::equal(out.begin(), out.begin() + size, exclusive.begin())) << n;
      ASSERT_EQ(out[n], T(77)) << n;
    }
  });
}

TEST_P(scan_test, equals_std_for_integers_at_every_seam) {
  expect_scans_at_seams(pool, some_numbers<int>((1U << 20U) + 1), 5, std::plus<>(), 20);
}
TEST_P(scan_test, keeps_the_order_of_operands_at_every_seam) {
  auto const maps = some_maps((1U << 18U) + 1);
  expect_scans_at_seams(pool, maps, std::uint64_t{3} << 32U, composed(), 18);
}
TEST_P(scan_test, keeps_the_order_for_an_operator_with_a_state) {
  auto const maps = some_maps((1U << 18U) + 1);
  expect_scans_at_seams(
      pool, maps, std::uint64_t{3} << 32U,
      [f = composed(), &maps](std::uint64_t a, std::uint64_t b) { return maps.empty() ? 0 : f(a, b); }, 18);
}

TEST_P(scan_test, is_as_near_as_n_roundings_for_doubles) {
  auto const in = some_numbers<double>(300'001);
  std::vector<double> out(in.size()), shifted(in.size());
  for (std::size_t const n : {1U, 9U, 100U, 8'193U, 32'769U, 300'001U}) {
    auto const end = in.begin() + static_cast<std::ptrdiff_t>(n);
    rubato::inclusive_scan(pool, in.begin(), end, out.begin());
    rubato::exclusive_scan(pool, in.begin(), end, shifted.begin(), 0.0);
    long double expected = 0, magnitude = 0;
    for (std::size_t i = 0; i != n; ++i) {
      auto const allowed =
          static_cast<double>(magnitude + std::abs(in[i])) * 2.3e-16 * static_cast<double>(i + 2);
      ASSERT_NEAR(shifted[i], static_cast<double>(expected), allowed) << n << ' ' << i;
      expected += in[i];
      magnitude += std::abs(in[i]);
      ASSERT_NEAR(out[i], static_cast<double>(expected), allowed) << n << ' ' << i;
    }
  }
}

TEST_P(scan_test, writes_in_place) {
  auto const check = [&](auto const& in, auto op) {
    using value = typename std::remove_cvref_t<decltype(in)>::value_type;
    auto expected = in, there = in;
    value const init = in.empty() ? value(1) : in.back();
    std::inclusive_scan(in.begin(), in.end(), expected.begin(), op);
    rubato::inclusive_scan(pool, there, there.begin(), op);
    ASSERT_TRUE(there == expected) << in.size();
    there = in;
    if (!in.empty()) std::exclusive_scan(in.begin(), in.end(), expected.begin(), init, op);
    rubato::exclusive_scan(pool, there, there.begin(), init, op);
    ASSERT_TRUE(there == expected) << in.size();
    there = in;
    auto const map = [](value x) { return static_cast<value>(x + 1); };
    std::transform_inclusive_scan(in.begin(), in.end(), expected.begin(), op, map);
    rubato::transform_inclusive_scan(pool, there, there.begin(), op, map);
    ASSERT_TRUE(there == expected) << in.size();
    there = in;
    std::transform_exclusive_scan(in.begin(), in.end(), expected.begin(), init, op, map);
    rubato::transform_exclusive_scan(pool, there, there.begin(), init, op, map);
    ASSERT_TRUE(there == expected) << in.size();
  };
  for (std::size_t n = 0; n <= 100; ++n) {
    check(some_numbers<std::int64_t>(n), std::plus<>());
    check(some_maps(n), composed());
  }
  check(some_numbers<std::int64_t>(sized(1'000'000)), std::plus<>());
  check(some_maps(sized(1'000'000)), composed());
}

TEST_P(scan_test, has_the_same_bits_on_any_number_of_workers) {
  rubato::pool one(1);
  auto const in = some_numbers<double>(200'000);
  auto const holding = [&one](double a, double b) { return one.size() == 1 ? a + b : 0; };
  auto const half = [](double x) { return x / 2; };
  auto const expect_same = [&](auto scan) {
    std::vector<double> here(in.size()), there(in.size());
    scan(one, there.begin());
    for (int round = 0; round != 3; ++round) {
      scan(pool, here.begin());
      for (std::size_t i = 0; i != in.size(); ++i)
        ASSERT_EQ(std::bit_cast<std::uint64_t>(here[i]), std::bit_cast<std::uint64_t>(there[i])) << i;
    }
  };
  auto const tag = rubato::deterministic;
  expect_same([&](auto& p, auto out) { rubato::inclusive_scan(p, in, out); });
  expect_same([&](auto& p, auto out) { rubato::inclusive_scan(p, tag, in, out); });
  expect_same([&](auto& p, auto out) { rubato::inclusive_scan(p, tag, in, out, holding); });
  expect_same(
      [&](auto& p, auto out) { rubato::exclusive_scan(p, tag, in.begin(), in.end(), out, 0.1, holding); });
  expect_same(
      [&](auto& p, auto out) { rubato::transform_inclusive_scan(p, tag, in, out, std::plus<>(), half); });
  expect_same([&](auto& p, auto out) {
    rubato::transform_exclusive_scan(p, tag, in.begin(), in.end(), out, 0.1, std::plus<>(), half);
  });
}

#if defined(RUBATO_HAS_RAPIDCHECK)
TEST_P(scan_test, does_what_std_does) {
  EXPECT_TRUE(rc::check([&](std::vector<std::uint32_t> const& in, std::uint32_t init) {
    std::vector<std::uint32_t> expected(in.size()), out(in.size());
    std::exclusive_scan(in.begin(), in.end(), expected.begin(), init, std::bit_xor<>());
    rubato::exclusive_scan(pool, in, out.begin(), init, std::bit_xor<>());
    RC_ASSERT(out == expected);
    auto const holding = [&init](std::uint32_t a, std::uint32_t b) { return a + b + init; };
    std::inclusive_scan(in.begin(), in.end(), expected.begin(), holding);
    rubato::inclusive_scan(pool, in, out.begin(), holding);
    RC_ASSERT(out == expected);
  }));
}
#endif

TEST(scan_of_few_numbers, looks_up_no_pool) {
  auto const configure = [] { rubato::pool::configure_global(rubato::pool_options().workers(2)); };
  try {
    configure();
  } catch (std::logic_error const&) {
    GTEST_SKIP() << "another test of this process has started the global pool";
  }
  std::vector<double> ones(32'768, 1.0);
  rubato::inclusive_scan(ones, ones.begin());
  EXPECT_EQ(ones.back(), 32'768.0);
  EXPECT_NO_THROW(configure()) << "it has started the global pool";
}

} // namespace
