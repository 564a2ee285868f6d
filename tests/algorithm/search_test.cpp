// Searches, comparisons and counts against std, at every seam and on every kind of range.
#include <gtest/gtest.h>

#include "algorithm/lengths.hpp"
#include "support/pools.hpp"
#include "support/values.hpp"

#include <rubato/algorithm/search.hpp>
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
#include <ranges>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace rubato_test;

namespace {

class search_test : public on_workers {};
RUBATO_TEST_WITH_WORKERS(search_test, all_counts);

template<class T>
void expect_first_at_every_seam(rubato::pool& pool, unsigned most_bits) {
  std::vector<T> v((std::size_t{1} << most_bits) + 1, T(1));
  auto const is_two = [](T const& x) { return x == T(2); };
  pool.run([&] {
    for (auto const n : seam_lengths(1'100, most_bits)) {
      auto const b = v.begin(), e = b + static_cast<std::ptrdiff_t>(n);
      ASSERT_TRUE(rubato::find_if(b, e, is_two) == e) << n;
      ASSERT_EQ(rubato::count(b, e, T(1)), e - b);
      for (std::size_t const at : {n / 3, n - 1}) {
        if (at >= n) continue;
        v[n - 1] = v[at] = T(2); // two matches, the first counts
        ASSERT_TRUE(rubato::find_if(b, e, is_two) == b + static_cast<std::ptrdiff_t>(at)) << n;
        ASSERT_EQ(rubato::count_if(b, e, is_two), at == n - 1 ? 1 : 2);
        v[n - 1] = v[at] = T(1);
      }
    }
  });
}

TEST_P(search_test, finds_the_first_at_every_seam) { expect_first_at_every_seam<int>(pool, 20); }
TEST_P(search_test, finds_the_first_of_bytes) { expect_first_at_every_seam<char>(pool, 18); }
TEST_P(search_test, finds_the_first_of_doubles) { expect_first_at_every_seam<double>(pool, 17); }

TEST_P(search_test, finds_the_first_of_many_matches) {
  std::vector<int> v(300'000, 0);
  pool.run([&] {
    for (std::size_t const at : {0U, 1U, 63U, 64U, 1'023U, 1'024U, 5'000U, 100'000U, 299'999U}) {
      std::fill(v.begin() + static_cast<std::ptrdiff_t>(at), v.end(), 1);
      for (int round = 0; round != 5; ++round) {
        ASSERT_EQ(rubato::find(v, 1) - v.begin(), static_cast<std::ptrdiff_t>(at));
        ASSERT_EQ(
            rubato::find_if(std::views::iota(std::size_t{0}, v.size()), [&](auto i) { return v[i] == 1; }) -
                std::views::iota(std::size_t{0}, v.size()).begin(),
            static_cast<std::ptrdiff_t>(at));
      }
      std::fill(v.begin(), v.end(), 0);
    }
  });
}

TEST_P(search_test, tests_little_behind_the_match) {
  std::size_t const n = 2'000'000;
  std::uint64_t const threads = std::max(1U, pool.size());
  for (std::size_t const at : {std::size_t{0}, std::size_t{50}, std::size_t{2'000}, n / 4}) {
    std::vector<int> v(n, 0);
    v[at] = 1;
    std::atomic<std::size_t> calls{0};
    auto const counted_test = [&calls](int x) {
      calls.fetch_add(1, std::memory_order_relaxed);
      return x == 1;
    };
    pool.run(
        [&] { EXPECT_EQ(rubato::find_if(v, counted_test) - v.begin(), static_cast<std::ptrdiff_t>(at)); });
    EXPECT_LE(calls.load(), at + threads * 2 * 32'768 + 64);
    EXPECT_TRUE(at >= 64 || calls.load() <= 128) << calls.load();
  }
}

TEST_P(search_test, answers_for_all_any_and_none) {
  std::vector<int> v(100'000, 1);
  auto const is_one = [](int x) { return x == 1; };
  pool.run([&] {
    EXPECT_TRUE(rubato::all_of(v, is_one) && rubato::any_of(v, is_one) && !rubato::none_of(v, is_one));
    v[77'777] = 2;
    EXPECT_TRUE(!rubato::all_of(pool, v, is_one) && rubato::any_of(v.begin(), v.end(), is_one));
    EXPECT_TRUE(rubato::none_of(v, is_one, [](int x) { return x + 2; }));
    std::vector<int> const none;
    EXPECT_TRUE(rubato::all_of(none, is_one) && !rubato::any_of(none, is_one) &&
                rubato::none_of(none, is_one));
  });
}

TEST_P(search_test, compares_at_every_seam) {
  std::vector<int> a((1U << 18U) + 1, 3);
  auto b = a;
  pool.run([&] {
    for (auto const n : seam_lengths(1'100, 18)) {
      auto const e = a.begin() + static_cast<std::ptrdiff_t>(n);
      auto const f = b.begin() + static_cast<std::ptrdiff_t>(n);
      ASSERT_TRUE(rubato::equal(a.begin(), e, b.begin(), f));
      if (n == 0) continue;
      b[n / 2] = 4;
      b[n - 1] = 4;
      ASSERT_FALSE(rubato::equal(a.begin(), e, b.begin(), f));
      auto const r = rubato::mismatch(a.begin(), e, b.begin(), b.end());
      ASSERT_EQ(r.in1 - a.begin(), static_cast<std::ptrdiff_t>(n / 2));
      ASSERT_EQ(r.in2 - b.begin(), static_cast<std::ptrdiff_t>(n / 2));
      b[n / 2] = b[n - 1] = 3;
    }
    EXPECT_FALSE(rubato::equal(a, std::vector<int>(3, 3)));
    EXPECT_TRUE(rubato::mismatch(a, std::list<int>(3, 3)).in1 == a.begin() + 3);
    EXPECT_TRUE(rubato::equal(a, std::vector<long>(a.size(), 4), {}, [](int x) { return x + 1; }));
    EXPECT_TRUE(
        rubato::equal(pool, std::list<int>(9, 4), std::forward_list<int>(9, 3), std::ranges::greater()));
  });
}

TEST_P(search_test, takes_every_kind_of_range) {
  std::vector<int> numbers(20'000);
  for (std::size_t i = 0; i != numbers.size(); ++i) numbers[i] = static_cast<int>(i);
  std::deque<int> const both_ends(numbers.begin(), numbers.end());
  std::list<int> const linked(numbers.begin(), numbers.end());
  std::vector<bool> bits(20'000);
  bits[15'000] = true;
  std::vector<std::string> const words{"so", "it", "goes", "on"};
  pool.run([&] {
    EXPECT_EQ(*rubato::find(both_ends, 12'345), 12'345);
    EXPECT_EQ(*rubato::find(linked, 12'345), 12'345);
    EXPECT_TRUE(rubato::find(linked, -1) == linked.end());
    EXPECT_EQ(rubato::find(bits, true) - bits.begin(), 15'000);
    EXPECT_EQ(rubato::count(bits, true), 1);
    EXPECT_EQ(rubato::find(words, "goes") - words.begin(), 2);
    EXPECT_EQ(rubato::find(words, 4U, &std::string::size) - words.begin(), 2);
    auto const squares =
        std::views::iota(0, 20'000) | std::views::transform([](int x) { return x * (x % 2); });
    EXPECT_EQ(rubato::count(squares, 0), 10'001 - 1);
    EXPECT_EQ(*rubato::find(numbers | std::views::reverse, 5), 5);
    std::stringstream text("1 2 3 4");
    EXPECT_EQ(rubato::count_if(std::views::istream<int>(text), [](int x) { return x > 1; }), 3);
  });
}

TEST_P(search_test, ends_as_one_thread_would) {
  leak_check const leaks;
  std::vector<int> v(200'000, 0);
  v[150'000] = 1;
  auto const found = [&](std::size_t bad) {
    return rubato::find_if(pool, v,
                           [&v, bad](int const& x) {
                             if (&x == &v[bad]) throw counted_error(5);
                             return x == 1;
                           }) -
           v.begin();
  };
  for (int round = 0; round != 10; ++round) {
    for (std::size_t const bad : {0U, 100U, 1'000U, 1'100U, 149'999U})
      EXPECT_EQ(thrown_by([&] { return found(bad); }), 5);
    for (std::size_t const bad : {150'001U, 150'100U, 199'999U})
      EXPECT_EQ(found(bad), 150'000); // behind the match
  }
  EXPECT_EQ(
      thrown_by(pool, [&] { return rubato::count_if(v, [](int x) -> bool { throw counted_error(x); }); }), 0);
}

TEST_P(search_test, ends_with_the_scope_that_is_stopped) {
  std::vector<int> const v(3'000'000, 1);
  std::list<int> const linked(10'000, 1);
  int cut = 0;
  auto const stopped = [&](auto f) {
    pool.run([&] {
      try {
        rubato::with_scope([&](rubato::scope& s) {
          s.request_stop();
          try {
            f();
          } catch (rubato::cancelled const&) {
            ++cut;
          }
        });
      } catch (rubato::cancelled const&) {
      }
    });
  };
  stopped([&] { rubato::find(v, 2); });
  stopped([&] { rubato::equal(v, v); });
  stopped([&] { rubato::count(v, 2); });
  stopped([&] { rubato::min_element(v); });
  stopped([&] { rubato::find(linked, 2); });
  EXPECT_EQ(cut, 5);
}

TEST_P(search_test, returns_what_std_returns) {
  std::vector<int> v(10);
  auto const temporary = [] { return std::vector<int>(10); };
  using std::is_same_v;
  static_assert(
      is_same_v<decltype(rubato::find(temporary(), 1)), decltype(std::ranges::find(temporary(), 1))>);
  static_assert(is_same_v<decltype(rubato::find(pool, v, 1)), decltype(std::ranges::find(v, 1))>);
  static_assert(is_same_v<decltype(rubato::count(v, 1)), decltype(std::ranges::count(v, 1))>);
  static_assert(is_same_v<decltype(rubato::mismatch(v, v)), decltype(std::ranges::mismatch(v, v))>);
  static_assert(is_same_v<decltype(rubato::mismatch(v, temporary()).in2), std::ranges::dangling>);
  static_assert(is_same_v<decltype(rubato::minmax_element(v)), decltype(std::ranges::minmax_element(v))>);
  static_assert(
      is_same_v<decltype(rubato::min_element(temporary())), decltype(std::ranges::min_element(temporary()))>);
}

TEST(search_alone, looks_up_no_pool_for_few_elements) {
  rubato::pool unused(2);
  std::vector<int> const v(1'024, 1);
  auto const outside = [](auto...) { return rubato::current_pool() == nullptr; };
  EXPECT_TRUE(rubato::all_of(unused, v, outside));
  EXPECT_EQ(rubato::count_if(unused, v, outside), 1'024);
  EXPECT_TRUE(rubato::equal(unused, v, v, outside));
  rubato::min_element(unused, v, [&](int, int) { return outside(); });
}

} // namespace
