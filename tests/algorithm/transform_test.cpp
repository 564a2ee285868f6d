// transform, copy, fill and generate against std.
#include <gtest/gtest.h>

#include "algorithm/lengths.hpp"
#include "support/pools.hpp"
#include "support/values.hpp"

#include <rubato/algorithm/copies.hpp>
#include <rubato/cancelled.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <forward_list>
#include <functional>
#include <iterator>
#include <list>
#include <numeric>
#include <ranges>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace rubato_test;

namespace {

class transform_test : public on_workers {};
RUBATO_TEST_WITH_WORKERS(transform_test, all_counts);

std::vector<int> numbers_up_to(std::size_t n) {
  std::vector<int> made(n);
  std::iota(made.begin(), made.end(), 0);
  return made;
}

TEST_P(transform_test, equals_std_at_every_seam) {
  auto const in = numbers_up_to((1U << 20U) + 1);
  std::vector<int> expected(in.size()), out(in.size() + 1);
  std::ranges::transform(in, expected.begin(), [](int x) { return 3 * x + 1; });
  pool.run([&] {
    for (auto const n : seam_lengths()) {
      auto const size = static_cast<std::ptrdiff_t>(n);
      std::fill(out.begin(), out.begin() + size + 1, -1);
      auto const r =
          rubato::transform(in.begin(), in.begin() + size, out.begin(), [](int x) { return 3 * x + 1; });
      ASSERT_TRUE(r.in == in.begin() + size && r.out == out.begin() + size) << n;
      ASSERT_TRUE(std::equal(out.begin(), r.out, expected.begin())) << n;
      ASSERT_EQ(*r.out, -1) << n;
      std::fill(out.begin(), out.begin() + size, -2);
      auto const c = rubato::copy(in.begin(), in.begin() + size, out.begin());
      ASSERT_TRUE(c.in == in.begin() + size && c.out == out.begin() + size) << n;
      ASSERT_TRUE(std::equal(out.begin(), c.out, in.begin())) << n;
      ASSERT_EQ(*c.out, -1) << n;
    }
  });
}

TEST_P(transform_test, fills_and_generates_at_every_seam) {
  std::vector<std::int64_t> out((1U << 20U) + 2, 0);
  pool.run([&] {
    std::int64_t value = 0;
    for (auto const n : seam_lengths()) {
      auto const end = out.begin() + static_cast<std::ptrdiff_t>(n);
      *end = -1;
      ++value;
      ASSERT_TRUE(rubato::fill(out.begin(), end, value) == end);
      ASSERT_EQ(std::count(out.begin(), end, value), end - out.begin()) << n;
      ++value;
      ASSERT_TRUE(rubato::generate(out.begin(), end, [value] { return value; }) == end);
      ASSERT_EQ(std::count(out.begin(), end, value), end - out.begin()) << n;
      ASSERT_EQ(*end, -1) << n;
    }
  });
}

TEST_P(transform_test, of_two_ranges_ends_with_the_shorter) {
  auto const a = numbers_up_to(100'000);
  auto const b = numbers_up_to(70'001);
  std::vector<long> out(100'001, -1);
  std::list<int> const linked(b.begin(), b.begin() + 500);
  pool.run([&] {
    auto const r = rubato::transform(a, b, out.begin(), [](int x, int y) { return long{x} + y; });
    EXPECT_TRUE(r.in1 == a.begin() + 70'001 && r.in2 == b.end() && r.out == out.begin() + 70'001);
    for (std::size_t i = 0; i != 70'001; ++i) ASSERT_EQ(out[i], 2 * static_cast<long>(i));
    EXPECT_EQ(out[70'001], -1);
    auto const s = rubato::transform(pool, linked.begin(), linked.end(), a.begin(), a.end(), out.begin(),
                                     std::multiplies<>(), std::negate<>(), std::identity());
    EXPECT_TRUE(s.in1 == linked.end() && s.in2 == a.begin() + 500 && s.out == out.begin() + 500);
    for (std::size_t i = 0; i != 500; ++i) ASSERT_EQ(out[i], -static_cast<long>(i * i));
  });
}

TEST_P(transform_test, works_in_place_and_on_overlapping_arrays) {
  auto values = numbers_up_to(300'000);
  auto words = std::vector<std::string>(3'000, "word");
  pool.run([&] {
    rubato::transform(values, values.begin(), [](int x) { return 2 * x; });
    for (std::size_t i = 0; i != values.size(); ++i) ASSERT_EQ(values[i], 2 * static_cast<int>(i));
    rubato::copy(values.begin() + 1, values.end(), values.begin());
    for (std::size_t i = 0; i + 1 != values.size(); ++i) ASSERT_EQ(values[i], 2 * static_cast<int>(i + 1));
    rubato::transform(values.begin() + 1, values.end(), values.begin(), [](int x) { return x + 1; });
    for (std::size_t i = 0; i + 2 < values.size(); ++i) ASSERT_EQ(values[i], 2 * static_cast<int>(i + 2) + 1);
    rubato::transform(words, words, words.begin(), std::plus<>());
  });
  EXPECT_EQ(std::ranges::count(words, "wordword"), 3'000);
}

TEST_P(transform_test, takes_every_kind_of_range) {
  auto const numbers = numbers_up_to(5'000);
  std::deque<int> const both_ends(numbers.begin(), numbers.end());
  std::forward_list<int> const forward(numbers.begin(), numbers.end());
  auto const twice = [](int x) { return 2 * x; };
  std::vector<int> expected(5'000);
  std::ranges::transform(numbers, expected.begin(), twice);
  std::vector<int> backwards(expected.rbegin(), expected.rend());
  pool.run([&] {
    std::vector<int> out(5'000);
    rubato::transform(both_ends, out.begin(), twice);
    EXPECT_EQ(out, expected);
    rubato::transform(std::views::iota(0, 5'000), out.begin(), twice);
    EXPECT_EQ(out, expected);
    rubato::transform(numbers | std::views::reverse, out.begin(), twice);
    EXPECT_EQ(out, backwards);
    rubato::copy(numbers | std::views::transform(twice), out.begin());
    EXPECT_EQ(out, expected);
    std::vector<int> appended;
    rubato::transform(forward, std::back_inserter(appended), twice);
    EXPECT_EQ(appended, expected);
    std::list<int> linked(5'000);
    EXPECT_TRUE(rubato::transform(numbers, linked.begin(), twice).out == linked.end());
    EXPECT_TRUE(std::ranges::equal(linked, expected));
    rubato::fill(linked, 7);
    EXPECT_EQ(std::ranges::count(linked, 7), 5'000);
    rubato::generate(linked, [] { return 8; });
    EXPECT_EQ(std::ranges::count(linked, 8), 5'000);
    std::stringstream text("1 2 3");
    appended.clear();
    rubato::copy(std::views::istream<int>(text), std::back_inserter(appended));
    EXPECT_EQ(appended, (std::vector{1, 2, 3}));
  });
}

TEST_P(transform_test, takes_bits_on_either_side) {
  auto const numbers = numbers_up_to(50'000);
  std::vector<bool> bits(50'000), others(50'000);
  pool.run([&] {
    rubato::transform(numbers, bits.begin(), [](int x) { return x % 3 == 0; });
    for (std::size_t i = 0; i != bits.size(); ++i) ASSERT_EQ(bits[i], i % 3 == 0);
    rubato::copy(bits, others.begin());
    EXPECT_EQ(bits, others);
    std::vector<char> flags(50'000);
    rubato::transform(bits, flags.begin(), [](bool b) { return b ? 'x' : '-'; });
    EXPECT_EQ(std::ranges::count(flags, 'x'), std::ranges::count(bits, true));
    rubato::fill(others, true);
    EXPECT_EQ(std::ranges::count(others, true), 50'000);
  });
}

struct kilobyte {
  explicit kilobyte(int v = 0) { bytes[1023] = static_cast<char>(v); }
  char bytes[1024]{};
};

TEST_P(transform_test, takes_elements_of_any_size) {
  std::vector<char> const small(200'000, 'a');
  std::vector<kilobyte> const large(2'000, kilobyte(5));
  std::vector<move_only> from;
  for (int i = 0; i != 2'000; ++i) from.emplace_back(i);
  pool.run([&] {
    std::vector<char> chars(small.size());
    rubato::transform(small, chars.begin(), [](char c) { return static_cast<char>(c + 1); });
    EXPECT_EQ(std::ranges::count(chars, 'b'), 200'000);
    std::vector<kilobyte> blocks(large.size());
    rubato::copy(large, blocks.begin());
    EXPECT_TRUE(std::ranges::all_of(blocks, [](auto& k) { return k.bytes[1023] == 5; }));
    std::vector<move_only> to;
    for (int i = 0; i != 2'000; ++i) to.emplace_back(-1);
    rubato::transform(from, to.begin(), [](move_only& m) { return std::move(m); });
    for (int i = 0; i != 2'000; ++i) ASSERT_EQ(to[static_cast<std::size_t>(i)].value, i);
    std::vector<int> values(2'000);
    rubato::transform(to, values.begin(), std::negate<>(), &move_only::value);
    for (int i = 0; i != 2'000; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], -i);
  });
}

TEST_P(transform_test, returns_what_std_returns) {
  std::vector<int> v(10), w(10);
  auto const f = [](int x) { return x; };
  auto const temporary = [] { return std::vector<int>(10); };
  using std::is_same_v;
  static_assert(is_same_v<decltype(rubato::transform(v, w.begin(), f)),
                          decltype(std::ranges::transform(v, w.begin(), f))>);
  static_assert(is_same_v<decltype(rubato::transform(temporary(), w.begin(), f)),
                          decltype(std::ranges::transform(temporary(), w.begin(), f))>);
  static_assert(is_same_v<decltype(rubato::transform(pool, v, temporary(), w.begin(), std::plus<>())),
                          decltype(std::ranges::transform(v, temporary(), w.begin(), std::plus<>()))>);
  static_assert(is_same_v<decltype(rubato::copy(temporary(), w.begin())),
                          decltype(std::ranges::copy(temporary(), w.begin()))>);
  static_assert(
      is_same_v<decltype(rubato::fill(temporary(), 1)), decltype(std::ranges::fill(temporary(), 1))>);
  static_assert(is_same_v<decltype(rubato::generate(v, [] { return 1; })),
                          decltype(std::ranges::generate(v, [] { return 1; }))>);
  EXPECT_TRUE(rubato::transform(pool, temporary(), w.begin(), f).out == w.end());
}

TEST_P(transform_test, throws_what_a_call_throws) {
  leak_check const leaks;
  std::vector<counted> const from(3'000, counted(1));
  for (int const k : {0, 1, 700, 2'999}) {
    std::vector<counted> to(3'000, counted(2));
    std::atomic<int> calls{0};
    EXPECT_EQ(thrown_by(pool,
                        [&] {
                          rubato::transform(from, to.begin(), [&](counted const& c) {
                            if (calls++ == k) throw counted_error(k);
                            return counted(c.value + 2);
                          });
                        }),
              k);
    for (counted const& c : to) ASSERT_TRUE(c.value == 2 || c.value == 3);
    EXPECT_LE(std::ranges::count(to, 3, &counted::value), 3'000 - 1);
  }
}

TEST_P(transform_test, ends_with_the_scope_that_is_stopped) {
  std::vector<int> const from(1'000'000, 1);
  std::list<int> const linked(10'000, 1);
  auto const is_cut = [&](auto f) {
    bool thrown = false;
    pool.run([&] {
      try {
        rubato::with_scope([&](rubato::scope& s) {
          s.request_stop();
          try {
            f();
          } catch (rubato::cancelled const&) {
            thrown = true;
          }
        });
      } catch (rubato::cancelled const&) {
      }
    });
    return thrown;
  };
  std::vector<int> to(from.size());
  EXPECT_TRUE(is_cut([&] { rubato::copy(from, to.begin()); }));
  EXPECT_TRUE(is_cut([&] { rubato::fill(to, 1); }));
  EXPECT_TRUE(is_cut(
      [&] { rubato::transform(std::views::iota(0, 1'000'000), to.begin(), [](int x) { return x; }); }));
  EXPECT_TRUE(is_cut([&] { rubato::transform(linked, to.begin(), [](int x) { return x; }); }));
  EXPECT_TRUE(is_cut([&] { rubato::copy(linked, to.begin()); }));
}

TEST(transform_alone, looks_up_no_pool_for_few_elements) {
  rubato::pool unused(2);
  std::vector<int> const from(1'024, 1);
  std::vector<int> to(1'024);
  auto const outside = [](auto...) { return rubato::current_pool() == nullptr ? 1 : 0; };
  rubato::transform(unused, from, to.begin(), outside);
  EXPECT_EQ(std::ranges::count(to, 1), 1'024);
  rubato::transform(unused, from, from, to.begin(), outside);
  EXPECT_EQ(std::ranges::count(to, 1), 1'024);
  rubato::generate(unused, to, outside);
  EXPECT_EQ(std::ranges::count(to, 1), 1'024);
}

} // namespace
