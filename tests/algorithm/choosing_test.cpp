// copy_if and filter against std.
#include <gtest/gtest.h>

#include "algorithm/lengths.hpp"
#include "support/pools.hpp"
#include "support/values.hpp"

#include <rubato/algorithm/copies.hpp>
#include <rubato/cancelled.hpp>
#include <rubato/detail/base/assert.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <forward_list>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <ranges>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using namespace rubato_test;

namespace {

class choosing_test : public on_workers {};
RUBATO_TEST_WITH_WORKERS(choosing_test, all_counts);

std::vector<int> mixed(std::size_t n) {
  std::vector<int> v(n);
  unsigned x = 1;
  for (int& i : v) i = static_cast<int>((x = x * 1'103'515'245U + 12'345U) >> 8U);
  return v;
}

constexpr auto is_chosen = [](int x) { return x % 3 != 0; };

TEST_P(choosing_test, equals_std_at_every_seam) {
  auto const in = mixed((1U << 20U) + 1);
  std::vector<int> out(in.size() + 1), expected(in.size());
  pool.run([&] {
    for (auto const n : seam_lengths(600)) {
      auto const last = in.begin() + static_cast<std::ptrdiff_t>(n);
      expected.resize(n);
      expected.erase(std::copy_if(in.begin(), last, expected.begin(), is_chosen), expected.end());
      std::fill(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n + 1), -1);
      auto const r = rubato::copy_if(in.begin(), last, out.begin(), is_chosen);
      ASSERT_TRUE(r.in == last);
      ASSERT_TRUE(std::equal(out.begin(), r.out, expected.begin(), expected.end())) << n;
      ASSERT_EQ(*r.out, -1) << "written behind the end, of " << n;
      ASSERT_TRUE(rubato::filter(std::ranges::subrange(in.begin(), last), is_chosen) == expected) << n;
    }
  });
}

TEST_P(choosing_test, works_in_several_rounds) {
  auto const in = mixed(sized(1'500'000));
  std::vector<int> expected;
  std::ranges::copy_if(in, std::back_inserter(expected), is_chosen);
  std::vector<int> few_first(in.size(), 0); // the first round misleads about the others
  std::fill(few_first.begin() + static_cast<std::ptrdiff_t>(in.size() / 2), few_first.end(), 1);
  pool.run([&] {
    EXPECT_TRUE(rubato::filter(in, is_chosen) == expected);
    std::vector<long> converted(expected.size());
    EXPECT_TRUE(rubato::copy_if(in, converted.begin(), is_chosen).out == converted.end());
    EXPECT_TRUE(std::ranges::equal(converted, expected));
    std::vector<int> exact(expected.size()); // a sanitizer sees what is written behind it
    EXPECT_TRUE(rubato::copy_if(in, exact.begin(), is_chosen).out == exact.end());
    EXPECT_EQ(exact, expected);
    EXPECT_EQ(rubato::filter(few_first, is_chosen).size(), in.size() - in.size() / 2);
    EXPECT_TRUE(rubato::filter(in, [](int) { return false; }).empty());
    EXPECT_TRUE(rubato::filter(in, [](int) { return true; }) == in);
  });
}

struct kilobyte {
  int key = 0;
  char rest[1020]{};
};

TEST_P(choosing_test, takes_elements_and_ranges_of_every_kind) {
  auto const numbers = mixed(20'000);
  std::vector<int> expected;
  std::ranges::copy_if(numbers, std::back_inserter(expected), is_chosen);
  std::vector<std::string> words;
  std::vector<only_constructible> others;
  std::vector<kilobyte> blocks;
  std::vector<bool> bits;
  for (int const x : numbers) {
    words.push_back(std::to_string(x));
    others.emplace_back(x);
    bits.push_back(is_chosen(x));
    if (blocks.size() < 2'000) blocks.push_back({x, {}});
  }
  std::deque<int> const both_ends(numbers.begin(), numbers.end());
  std::forward_list<int> const forward(numbers.begin(), numbers.end());
  pool.run([&] {
    EXPECT_EQ(rubato::filter(both_ends, is_chosen), expected);
    EXPECT_EQ(rubato::filter(forward, is_chosen), expected);
    EXPECT_EQ(rubato::filter(pool, numbers | std::views::reverse, is_chosen).front(), expected.back());
    EXPECT_EQ(rubato::filter(std::views::iota(0, 9'000), is_chosen).size(), 6'000U);
    auto const kept = rubato::filter(words, [](std::string const& s) { return s.size() % 2 == 0; });
    std::vector<std::string> expected_words;
    std::ranges::copy_if(words, std::back_inserter(expected_words),
                         [](auto& s) { return s.size() % 2 == 0; });
    EXPECT_EQ(kept, expected_words);
    auto const made = rubato::filter(others, is_chosen, &only_constructible::value);
    EXPECT_TRUE(std::ranges::equal(made, expected, {}, &only_constructible::value));
    EXPECT_EQ(rubato::filter(blocks, is_chosen, &kilobyte::key).size(),
              static_cast<std::size_t>(std::ranges::count_if(blocks, is_chosen, &kilobyte::key)));
    EXPECT_EQ(rubato::filter(bits, [](bool b) { return b; }), std::vector<bool>(expected.size(), true));
    std::vector<int> appended;
    rubato::copy_if(numbers, std::back_inserter(appended), is_chosen);
    EXPECT_EQ(appended, expected);
    std::vector<bool> few(numbers.size());
    EXPECT_EQ(rubato::copy_if(bits, few.begin(), [](bool b) { return b; }).out - few.begin(),
              std::ssize(expected));
    std::stringstream text("1 2 3 4");
    EXPECT_EQ(rubato::filter(std::views::istream<int>(text), is_chosen), (std::vector{1, 2, 4}));
  });
}

/// No number, so each block is shared out. `Rest`: chosen without branches, or by marks.
template<std::size_t Rest>
struct numbered {
  std::size_t place = 0;
  std::array<char, Rest> rest{};
};

template<std::size_t Rest>
void copy_with_a_slow_element(std::size_t n) {
  std::vector<numbered<Rest>> in(n);
  for (std::size_t i = 0; i != n; ++i) in[i].place = i;
  for (std::size_t const slow : {std::size_t{0}, n / 3, n - 1}) {
    std::vector<numbered<Rest>> out((n + 1) / 2);
    auto const end = rubato::copy_if(in, out.begin(), [slow](numbered<Rest> const& x) {
                       for (int i = 0; x.place == slow && i != 100; ++i) std::this_thread::yield();
                       return x.place % 2 == 0;
                     }).out;
    ASSERT_TRUE(end == out.end()) << slow;
    for (std::size_t i = 0; i != out.size(); ++i) ASSERT_EQ(out[i].place, 2 * i) << slow;
  }
}

TEST_P(choosing_test, keeps_the_order_whichever_thread_takes_a_block) {
  pool.run([&] {
    for (std::size_t const n : {1U, 127U, 128U, 129U, 300U, 20'000U, 300'000U}) {
      copy_with_a_slow_element<8>(n);
      copy_with_a_slow_element<16>(n);
    }
  });
}

/// Can be assigned, and not constructed from another one.
struct only_assigned {
  int value = 0;
  only_assigned() = default;
  only_assigned(only_assigned const&) = delete;
  only_assigned& operator=(only_assigned const&) = default;
};
struct without_default {
  int value;
  explicit without_default(int v)
      : value(v) {}
  bool operator==(without_default const&) const = default;
};

TEST_P(choosing_test, takes_plain_elements_of_every_kind) {
  for (std::size_t const n : {100U, 20'000U}) {
    std::vector<only_assigned> in(n), out(n);
    std::vector<without_default> others, expected;
    auto const bits = std::make_unique<bool[]>(n);
    for (std::size_t i = 0; i != n; ++i) {
      in[i].value = static_cast<int>(i);
      bits[i] = i % 2 != 0;
      others.emplace_back(static_cast<int>(i));
      if (i % 2 != 0) expected.push_back(others.back());
    }
    auto const is_odd = [](auto const& x) { return x.value % 2 != 0; };
    pool.run([&] {
      EXPECT_EQ(rubato::copy_if(in, out.begin(), is_odd).out - out.begin(), std::ssize(expected));
      for (std::size_t i = 0; i != expected.size(); ++i) ASSERT_EQ(out[i].value, expected[i].value);
      EXPECT_EQ(rubato::filter(others, is_odd), expected);
      EXPECT_EQ(rubato::filter(std::ranges::subrange(bits.get(), bits.get() + n), [](bool b) { return b; }),
                std::vector<bool>(expected.size(), true));
    });
  }
}

TEST_P(choosing_test, fills_a_vector_whose_first_elements_mislead) {
  for (std::size_t const n : {1'000U, 1'600U, 30'000U}) {
    std::vector<int> late(n, 0), early(n, 0); // all chosen, none of the first ones or none of the others
    std::fill(late.begin() + 600, late.end(), 1);
    std::fill(early.begin(), early.begin() + 600, 1);
    pool.run([&] {
      EXPECT_EQ(rubato::filter(late, std::identity()), std::vector<int>(n - 600, 1));
      EXPECT_EQ(rubato::filter(early, std::identity()), std::vector<int>(600, 1));
    });
  }
}

TEST_P(choosing_test, tests_each_element_once) {
  for (std::size_t const n : {100U, 1'000U, 5'000U, 700'000U}) {
    auto const in = mixed(n);
    std::atomic<std::size_t> calls{0};
    pool.run([&] {
      rubato::filter(in, [&](int) { return calls.fetch_add(1, std::memory_order_relaxed) % 2 == 0; });
    });
    EXPECT_EQ(calls.load(), n);
  }
}

TEST_P(choosing_test, leaks_nothing_when_a_test_throws) {
  leak_check const leaks;
  std::vector<counted> const in(3'000, counted(1));
  for (int const k : {0, 1, 127, 1'500, 2'999}) {
    std::atomic<int> calls{0};
    auto const throwing = [&](counted const&) {
      if (calls++ == k) throw counted_error(k);
      return true;
    };
    EXPECT_EQ(thrown_by(pool, [&] { rubato::filter(in, throwing); }), k);
    calls = 0;
    std::vector<counted> out(3'000, counted(2));
    EXPECT_EQ(thrown_by(pool, [&] { rubato::copy_if(in, out.begin(), throwing); }), k);
    for (counted const& c : out) ASSERT_TRUE(c.value == 1 || c.value == 2);
  }
}

TEST_P(choosing_test, writes_nothing_behind_if_a_test_throws) {
  for (std::size_t const n : {1'000U, 400'000U}) {
    auto const in = mixed(n);
    auto const chosen = static_cast<std::size_t>(std::ranges::count_if(in, is_chosen));
    for (std::size_t const k : {std::size_t{0}, n / 2, n - 1}) {
      std::vector<int> out(chosen + 1, -1);
      EXPECT_EQ(thrown_by(pool,
                          [&] {
                            rubato::copy_if(in, out.begin(), [&](int const& x) {
                              if (&x == &in[k]) throw counted_error(7);
                              return is_chosen(x);
                            });
                          }),
                7);
      ASSERT_EQ(out.back(), -1);
    }
  }
}

TEST_P(choosing_test, ends_with_the_scope_that_is_stopped) {
  auto const in = mixed(1'000'000);
  int cut = 0;
  pool.run([&] {
    try {
      rubato::with_scope([&](rubato::scope& s) {
        s.request_stop();
        try {
          rubato::filter(in, is_chosen);
        } catch (rubato::cancelled const&) {
          ++cut;
        }
      });
    } catch (rubato::cancelled const&) {
    }
  });
  EXPECT_EQ(cut, 1);
}

TEST(choosing_alone, returns_what_std_returns) {
  std::vector<int> v(10), w(10);
  auto const temporary = [] { return std::vector<int>(10); };
  static_assert(std::is_same_v<decltype(rubato::copy_if(v, w.begin(), is_chosen)),
                               decltype(std::ranges::copy_if(v, w.begin(), is_chosen))>);
  static_assert(std::is_same_v<decltype(rubato::copy_if(temporary(), w.begin(), is_chosen)),
                               decltype(std::ranges::copy_if(temporary(), w.begin(), is_chosen))>);
  rubato::pool unused(2);
  auto const outside = [](int) { return rubato::current_pool() == nullptr; };
  EXPECT_EQ(rubato::filter(unused, std::vector<int>(1'024), outside).size(), 1'024U);
}

#if RUBATO_ASSERTIONS
TEST(choosing_death_test, refuses_its_own_input_as_output) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::vector<int> v(10, 1);
  EXPECT_DEATH(rubato::copy_if(v, v.begin(), is_chosen), "copy_if\\(\\) writes into its own input");
  EXPECT_DEATH(rubato::copy_if(v.begin(), v.begin() + 5, v.begin() + 3, is_chosen), "its own input");
  rubato::copy_if(v.begin(), v.begin() + 5, v.begin() + 5, is_chosen);
}
#endif

} // namespace
