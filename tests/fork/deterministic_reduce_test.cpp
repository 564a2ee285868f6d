// reduce(deterministic, ...): the shape of the tree depends on the length alone, so the bits are always the
// same.
#include <gtest/gtest.h>

#include "support/jitter.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/thread_pool.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <numeric>
#include <random>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

using namespace rubato_test;

namespace {

constexpr std::size_t lengths[] = {0, 1, 2, 3, 5, 63, 64, 65, 1'000, 4'095, 4'096, 4'097, 20'000};

/// Magnitudes from 1e-10 to 1e10 of both signs: the order of additions shows in the last bits.
std::vector<double> numbers(std::size_t length) {
  std::mt19937_64 random(length);
  std::uniform_real_distribution<double> mantissa(-1.0, 1.0);
  std::uniform_real_distribution<double> exponent(-10.0, 10.0);
  std::vector<double> made(length);
  for (double& x : made) x = mantissa(random) * std::pow(10.0, exponent(random));
  return made;
}

std::uint64_t bits_of_sum(rubato::pool& pool, std::vector<double> const& values) {
  return std::bit_cast<std::uint64_t>(
      rubato::reduce(pool, rubato::deterministic, values, 0.25, std::plus<>{}));
}

/// The whole tree as text: which terms were added, in which grouping.
template<class Range>
std::string shape(rubato::pool& pool, Range const& range) {
  return rubato::reduce(
      pool, rubato::deterministic, range, std::string("i"),
      [](std::string const& a, std::string const& b) { return "(" + a + " " + b + ")"; },
      [](auto n) { return std::to_string(static_cast<long>(n)); });
}

class deterministic_reduce : public on_workers {};
RUBATO_TEST_WITH_WORKERS(deterministic_reduce, all_counts);

TEST_P(deterministic_reduce, gives_the_same_bits_as_one_worker) {
  rubato::pool one(1);
  bool order_shows = false;
  for (std::size_t const length : lengths) {
    auto const values = numbers(length);
    auto const expected = bits_of_sum(one, values);
    for (int round = 0; round != 10; ++round) ASSERT_EQ(bits_of_sum(pool, values), expected) << length;
    double const backwards = std::accumulate(values.rbegin(), values.rend(), 0.25);
    order_shows = order_shows || std::bit_cast<std::uint64_t>(backwards) != expected;
  }
  EXPECT_TRUE(order_shows) << "these numbers prove nothing: every order gives the same sum";
}

TEST_P(deterministic_reduce, gives_floats_the_same_bits_in_any_load) {
  std::vector<float> values(3'000);
  std::mt19937 random(7);
  for (float& x : values) x = std::uniform_real_distribution<float>(-1.0F, 1.0F)(random) * 1e3F;
  auto const add = [](float a, float b) { return a + b; };
  // Here and there a term is late, each time another one.
  auto const late = [](std::uint32_t round) {
    return [round](float x) {
      if (static_cast<std::uint32_t>(std::abs(x)) % 97 == round) jitter::spin(std::chrono::microseconds(20));
      return x;
    };
  };
  rubato::pool none(rubato::no_workers);
  auto const expected =
      std::bit_cast<std::uint32_t>(rubato::reduce(none, rubato::deterministic, values, 0.0F, add, late(97)));
  for (std::uint32_t round = 0; round != 10; ++round) {
    auto const sum = rubato::reduce(pool, rubato::deterministic, values, 0.0F, add, late(round));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(sum), expected);
  }
}

TEST_P(deterministic_reduce, groups_alike_on_any_number_of_workers) {
  rubato::pool one(1);
  for (std::size_t const length : {1U, 2U, 3U, 64U, 65U, 1'000U, 5'000U}) {
    std::vector<long> terms(length);
    std::iota(terms.begin(), terms.end(), 0);
    ASSERT_EQ(shape(pool, terms), shape(one, terms)) << length;
  }
}

TEST_P(deterministic_reduce, groups_alike_over_any_kind_of_container) {
  std::vector<int> terms(3'000);
  std::iota(terms.begin(), terms.end(), 0);
  auto const expected = shape(pool, terms);
  EXPECT_EQ(shape(pool, std::deque<long>(terms.begin(), terms.end())), expected);
  EXPECT_EQ(shape(pool, std::views::iota(0, 3'000)), expected);
}

TEST_P(deterministic_reduce, keeps_the_order_of_its_terms) {
  std::vector<int> terms(2'000);
  std::iota(terms.begin(), terms.end(), 0);
  std::string order = shape(pool, terms);
  std::erase_if(order, [](char c) { return c == '(' || c == ')'; });
  std::string expected = "i";
  for (int const n : terms) expected += " " + std::to_string(n);
  EXPECT_EQ(order, expected);
}

TEST_P(deterministic_reduce, gives_the_same_bits_in_a_resized_pool) {
  if (GetParam() == 0) return; // a pool without workers has nothing to resize in the middle of
  auto const values = numbers(20'000);
  auto const expected = bits_of_sum(pool, values);
  for (unsigned const workers : {1U, 5U, 2U, 12U, 0U, 3U}) {
    pool.resize(workers);
    ASSERT_EQ(bits_of_sum(pool, values), expected) << workers;
  }
}

} // namespace
