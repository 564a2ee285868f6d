// The scans of values that are no numbers, from ranges of any kind, and how they end early.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"

#include <rubato/algorithm/sums.hpp>
#include <rubato/cancelled.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

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
#include <vector>

using namespace rubato_test;

namespace {

class scan_values : public on_workers {};
RUBATO_TEST_WITH_WORKERS(scan_values, all_counts);

TEST_P(scan_values, in_order) {
  std::vector<std::string> letters, out, expected;
  for (int i = 0; i != 700; ++i) letters.push_back(std::string(1, static_cast<char>('a' + i % 26)));
  for (int const n : {0, 1, 2, 5, 257, 700}) {
    auto const some = letters | std::views::take(n);
    out.assign(letters.size(), "");
    expected = out;
    std::inclusive_scan(some.begin(), some.end(), expected.begin(), std::plus<>(), std::string("-"));
    rubato::inclusive_scan(pool, some, out.begin(), std::plus<>(), std::string("-"));
    ASSERT_EQ(out, expected);
    std::exclusive_scan(some.begin(), some.end(), expected.begin(), std::string("-"), std::plus<>());
    rubato::exclusive_scan(pool, some, out.begin(), std::string("-"));
    ASSERT_EQ(out, expected);
    std::inclusive_scan(some.begin(), some.end(), expected.begin());
    rubato::inclusive_scan(pool, rubato::deterministic, some, out.begin());
    ASSERT_EQ(out, expected);
  }
}

TEST_P(scan_values, without_default_constructor_and_without_leaks) {
  leak_check const leaks;
  std::vector<int> const ones(5'000, 1);
  std::vector<counted> out(5'000, counted(0));
  auto const add = [](counted const& a, counted const& b) { return counted(a.value + b.value); };
  auto const map = [](int x) { return counted(x); };
  rubato::transform_inclusive_scan(pool, ones, out.begin(), add, map);
  for (int i = 0; i != 5'000; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i)].value, i + 1);
  rubato::transform_exclusive_scan(pool, ones.begin(), ones.end(), out.begin(), counted(10), add, map);
  for (int i = 0; i != 5'000; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i)].value, i + 10);
}

TEST_P(scan_values, of_ranges_of_any_kind_into_outputs_of_any_kind) {
  std::vector<int> const expected{1, 3, 6, 10};
  std::list<int> const linked{1, 2, 3, 4};
  std::vector<int> made;
  rubato::inclusive_scan(pool, linked, std::back_inserter(made));
  EXPECT_EQ(made, expected);
  made.clear();
  std::istringstream text("1 2 3 4");
  rubato::inclusive_scan(pool, std::views::istream<int>(text), std::back_inserter(made));
  EXPECT_EQ(made, expected);
  std::forward_list<int> there{0, 0, 0, 0};
  EXPECT_TRUE(rubato::inclusive_scan(pool, std::views::iota(1, 5), there.begin()) == there.end());
  EXPECT_TRUE(std::equal(there.begin(), there.end(), expected.begin()));
  std::deque<long> queue(4);
  int const array[] = {1, 2, 3, 4};
  rubato::exclusive_scan(pool, array, queue.begin(), 10L);
  EXPECT_EQ(queue, (std::deque<long>{10, 11, 13, 16}));
  int out[4];
  EXPECT_EQ(rubato::inclusive_scan(pool, array, out), out + 4);
  EXPECT_EQ(rubato::inclusive_scan(pool, array, array + 4, out, std::plus<>(), 1), out + 4);
  EXPECT_EQ(out[3], 11);
  EXPECT_EQ(rubato::exclusive_scan(pool, array, array + 4, out, 1), out + 4);
  EXPECT_EQ(out[3], 7);
  made.clear();
  rubato::transform_exclusive_scan(pool, linked, std::back_inserter(made), 0, std::plus<>(),
                                   [](int x) { return 2 * x; });
  EXPECT_EQ(made, (std::vector<int>{0, 2, 6, 12}));
}

TEST_P(scan_values, into_a_vector_of_bool) {
  std::vector<bool> in(50'000), out(50'000);
  in[77] = true;
  auto const any = [](bool a, bool b) { return a || b; };
  rubato::inclusive_scan(pool, in, out.begin(), any);
  for (std::size_t i = 0; i != in.size(); ++i) ASSERT_EQ(out[i], i >= 77);
}

TEST_P(scan_values, to_the_type_of_init) {
  std::vector<std::uint8_t> const bytes(1'000, 255);
  std::vector<std::uint64_t> out(1'000);
  rubato::inclusive_scan(pool, bytes, out.begin(), std::plus<>(), std::uint64_t{1});
  EXPECT_EQ(out.back(), 255'001U);
  rubato::exclusive_scan(pool, bytes, out.begin(), std::uint64_t{0});
  EXPECT_EQ(out.back(), 254'745U);
}

TEST_P(scan_values, without_copying_the_operator_per_call) {
  struct adds {
    std::atomic<int>& copies;
    explicit adds(std::atomic<int>& c)
        : copies(c) {}
    adds(adds const& other)
        : copies(other.copies) {
      ++copies;
    }
    int operator()(int a, int b) const { return a + b; }
  };
  std::atomic<int> copies{0};
  adds const op(copies);
  std::vector<int> const ones(100'000, 1);
  std::vector<int> out(ones.size());
  rubato::inclusive_scan(pool, ones, out.begin(), op);
  EXPECT_EQ(out.back(), 100'000);
  EXPECT_LE(copies.load(), 4);
}

TEST_P(scan_values, passing_on_what_the_operator_throws) {
  leak_check const leaks;
  std::vector<counted> in(3'000, counted(1)), out(3'000, counted(0));
  for (int const bad : {1, 2, 100, 1'000, 2'900}) {
    std::atomic<int> calls{0};
    auto const add = [&](counted const& a, counted const& b) {
      if (++calls == bad) throw counted_error(bad);
      return counted(a.value + b.value);
    };
    EXPECT_EQ(thrown_by([&] { return rubato::inclusive_scan(pool, in, out.begin(), add); }), bad);
    calls = 0;
    EXPECT_EQ(thrown_by([&] {
                return rubato::exclusive_scan(pool, rubato::deterministic, in, out.begin(), counted(0), add);
              }),
              bad);
  }
  auto const add = [](counted const& a, counted const& b) { return counted(a.value + b.value); };
  rubato::inclusive_scan(pool, in, out.begin(), add);
  EXPECT_EQ(out.back().value, 3'000) << "the next scan works";
}

TEST_P(scan_values, unless_the_scope_is_stopped) {
  std::vector<int> const ones(200'000, 1);
  std::vector<int> out(ones.size());
  int ended = 0;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      std::atomic<int> calls{0};
      auto const stops = [&](int a, int b) {
        if (++calls == 5'000) s.request_stop();
        return a + b;
      };
      try {
        rubato::inclusive_scan(ones, out.begin(), stops);
      } catch (rubato::cancelled const&) {
        ++ended;
      }
      for (std::size_t const n : {2U, 1'000U, 200'000U}) try {
          rubato::exclusive_scan(ones.begin(), ones.begin() + static_cast<std::ptrdiff_t>(n), out.begin(), 0);
        } catch (rubato::cancelled const&) {
          ++ended;
        }
    });
  });
  EXPECT_EQ(ended, 4);
}

TEST_P(scan_values, inside_a_scan) {
  std::vector<int> const rows(200, 1);
  std::vector<int> out(rows.size());
  auto const nested = [](int a, int b) {
    std::vector<int> inner(300, 1);
    rubato::inclusive_scan(inner, inner.begin(), [&](int x, int y) { return x + y + 0 * b; });
    return a + b + inner.back() - 300;
  };
  rubato::inclusive_scan(pool, rows, out.begin(), nested);
  EXPECT_EQ(out.back(), 200);
}

} // namespace
