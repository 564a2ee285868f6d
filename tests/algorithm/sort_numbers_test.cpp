// sort: numbers and strings under the orders that they have by themselves, which are sorted by their
// representation from 65,536 on.
#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <rubato/algorithm/order.hpp>
#include <rubato/pool.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

using namespace rubato_test;

namespace {

constexpr std::size_t many = 66'000; // also under the sanitizers: fewer take another way

/// A sanitizer takes long for so many elements, and its compiler for so many types: it gets those that are
/// sorted in ways of their own.
constexpr bool sanitized = under_tsan || under_asan;
constexpr auto counts_of_interest = sanitized ? std::array{0U, 2U} : std::array{2U, 33U};

class sort_numbers : public on_workers {
protected:
  template<class T>
  void expect_as_std(std::vector<T> const& input, std::string_view what) {
    auto expected = input, v = input;
    std::ranges::sort(expected);
    rubato::sort(pool, v);
    ASSERT_TRUE(v == expected) << what;
    if constexpr (!sanitized || sizeof(T) == sizeof(std::int64_t)) {
      v = input;
      rubato::sort(pool, v, std::greater<T>());
      ASSERT_TRUE(std::equal(v.begin(), v.end(), expected.rbegin())) << what << ", descending";
    }
  }
};
INSTANTIATE_TEST_SUITE_P(workers, sort_numbers, testing::ValuesIn(counts_of_interest),
                         testing::PrintToStringParamName());

/// Random bits, from all of them down to one.
template<class T>
void widths(auto check) {
  scattered next(sizeof(T));
  for (unsigned bits = sizeof(T) * 8; bits > 0; bits = bits * (under_tsan ? 1 : 2) / 3) {
    std::vector<T> v(many);
    for (T& x : v) x = static_cast<T>(next() >> (64U - bits));
    check(v, std::to_string(bits) + " bits");
  }
}

TEST_P(sort_numbers, of_all_widths) {
  auto const check = [this](auto const& v, std::string const& what) { expect_as_std(v, what); };
  widths<std::uint8_t>(check);
  widths<std::int64_t>(check);
  if constexpr (!sanitized) {
    widths<std::int8_t>(check);
    widths<std::int16_t>(check);
    widths<std::uint32_t>(check);
  }
}

TEST_P(sort_numbers, of_types_of_their_own) {
  std::vector<char> text(many);
  std::vector<char16_t> wide(many);
  scattered next(3);
  for (std::size_t i = 0; i != many; ++i) {
    text[i] = static_cast<char>(next());
    wide[i] = static_cast<char16_t>(next());
  }
  if constexpr (!sanitized) expect_as_std(text, "char");
  expect_as_std(wide, "char16_t");
}

TEST_P(sort_numbers, near_the_ends_of_the_type) {
  std::vector<std::int64_t> v(many);
  scattered next(4);
  for (auto& x : v) {
    auto const near = static_cast<std::int64_t>(next.below(5'000));
    x = next.below(2) == 0 ? std::numeric_limits<std::int64_t>::max() - near
                           : std::numeric_limits<std::int64_t>::min() + near;
  }
  expect_as_std(v, "ends");
}

TEST_P(sort_numbers, that_lie_close_together_but_for_a_few) {
  std::vector<std::int64_t> v(many);
  scattered next(5);
  for (std::size_t i = 0; i != many; ++i)
    v[i] = static_cast<std::int64_t>(i % 1'000 == 0 ? next() : next.below(50'000));
  expect_as_std(v, "outliers");
}

template<class T>
std::vector<T> awkward_numbers() {
  using limits = std::numeric_limits<T>;
  std::vector<T> v(many);
  scattered next(6);
  for (T& x : v) {
    switch (next.below(8)) {
    case 0:
      x = limits::infinity();
      break;
    case 1:
      x = -limits::infinity();
      break;
    case 2:
      x = next.below(2) == 0 ? T(0.0) : T(-0.0);
      break;
    case 3:
      x = limits::denorm_min() * static_cast<T>(next.below(1'000));
      break;
    case 4:
      x = limits::max() / static_cast<T>(1 + next.below(1'000));
      break;
    default:
      x = static_cast<T>(static_cast<std::int64_t>(next())) / T(1e15);
      break;
    }
  }
  return v;
}

TEST_P(sort_numbers, with_a_point) {
  expect_as_std(awkward_numbers<double>(), "double");
  if constexpr (!sanitized) expect_as_std(awkward_numbers<float>(), "float");
  scattered next(7);
  std::vector<double> uniform(many), around_zero(many), far_apart(many);
  for (std::size_t i = 0; i != many; ++i) {
    uniform[i] = static_cast<double>(next() >> 11U) * 0x1p-53;
    around_zero[i] = uniform[i] + static_cast<double>(next() >> 11U) * 0x1p-53 - 1;
    far_apart[i] = std::exp(600 * around_zero[i]);
  }
  expect_as_std(uniform, "uniform");
  expect_as_std(around_zero, "around zero");
  expect_as_std(far_apart, "far apart");
}

TEST_P(sort_numbers, with_nans_keeps_each_bit) {
  for (std::size_t const n : {100U, 3'000U, 66'000U}) {
    std::vector<double> v(n);
    scattered next(n);
    for (double& x : v) x = std::bit_cast<double>(next() | (next.below(3) == 0 ? 0x7ff0000000000000U : 0U));
    auto const bits_of = [](std::vector<double> const& numbers) {
      std::vector<std::uint64_t> bits(numbers.size());
      std::ranges::transform(numbers, bits.begin(), [](double x) { return std::bit_cast<std::uint64_t>(x); });
      std::ranges::sort(bits);
      return bits;
    };
    auto const before = bits_of(v);
    rubato::sort(pool, v);
    EXPECT_TRUE(bits_of(v) == before);
    rubato::sort(pool, v, std::greater<>());
    EXPECT_TRUE(bits_of(v) == before);
  }
}

class sort_strings : public sort_numbers {
protected:
  template<class Make>
  void expect_as_std_made_by(Make make, std::string_view what) {
    scattered next(8);
    std::vector<std::string> v(many);
    for (auto& s : v) s = make(next);
    expect_as_std(v, what);
  }
};
INSTANTIATE_TEST_SUITE_P(workers, sort_strings, testing::ValuesIn(counts_of_interest),
                         testing::PrintToStringParamName());

std::string letters(scattered& next, std::size_t n) {
  std::string s(n, ' ');
  for (char& c : s) c = static_cast<char>(next());
  return s;
}

TEST_P(sort_strings, of_any_length) {
  expect_as_std_made_by([](scattered& next) { return letters(next, next.below(30)); }, "any length");
  expect_as_std_made_by([](scattered& next) { return letters(next, next.below(2)); }, "short");
}
TEST_P(sort_strings, that_begin_alike) {
  expect_as_std_made_by(
      [](scattered& next) { return "https://example.org/" + letters(next, next.below(12)); }, "one prefix");
  expect_as_std_made_by(
      [](scattered& next) {
        return std::string(next.below(2) == 0 ? "the same beginning, " : "another beginning, ") +
               std::to_string(next.below(30'000));
      },
      "two prefixes");
  expect_as_std_made_by(
      [](scattered& next) { return next.below(9) == 0 ? std::string("a") : std::string("b"); }, "two values");
}
TEST_P(sort_strings, that_contain_zeros) {
  expect_as_std_made_by([](scattered& next) { return std::string(next.below(12), '\0'); }, "zeros alone");
  expect_as_std_made_by(
      [](scattered& next) {
        std::string s(next.below(12), '\0');
        if (!s.empty()) s.back() = static_cast<char>(next.below(2));
        return s;
      },
      "zeros");
}

TEST_P(sort_strings, of_numbers_without_memory_for_them) {
  auto const input = input_of(shape::random, many);
  std::vector<std::string> v, expected;
  for (int const k : input) v.push_back(std::to_string(k));
  expected = v;
  std::ranges::sort(expected);
  rubato::sort(pool, std::in_place, v);
  EXPECT_TRUE(v == expected);
}

} // namespace
