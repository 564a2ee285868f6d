// fold: one accumulator per piece, merged in order.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/values.hpp"

#include <rubato/algorithm/sums.hpp>
#include <rubato/cancelled.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <ranges>
#include <sstream>
#include <string>
#include <vector>

using namespace rubato_test;

namespace {

class fold_test : public on_workers {};
RUBATO_TEST_WITH_WORKERS(fold_test, all_counts);

std::vector<int> up_to(int n) {
  std::vector<int> made(static_cast<std::size_t>(n));
  std::iota(made.begin(), made.end(), 0);
  return made;
}

TEST_P(fold_test, keeps_the_order_of_the_elements) {
  auto const append = [](std::vector<int>& all, int x) { all.push_back(x); };
  auto const join_them = [](std::vector<int>& a, std::vector<int> const& b) {
    a.insert(a.end(), b.begin(), b.end());
  };
  for (int const n : {0, 1, 2, 3, 100, 5'000, 60'000}) {
    auto const numbers = up_to(n);
    EXPECT_EQ(rubato::fold(pool, numbers, [] { return std::vector<int>(); }, append, join_them), numbers);
    EXPECT_EQ(rubato::fold(
                  pool, numbers.begin(), numbers.end(), [] { return std::vector<int>(); }, append, join_them),
              numbers);
  }
}

TEST_P(fold_test, takes_functions_that_return_the_accumulator) {
  auto const numbers = up_to(10'000);
  auto const append = [](std::string all, int x) { return std::move(all) + std::to_string(x); };
  std::string expected;
  for (int const x : numbers) expected += std::to_string(x);
  EXPECT_EQ(rubato::fold(pool, numbers, [] { return std::string(); }, append, std::plus<>()), expected);
  EXPECT_EQ(rubato::fold(pool, numbers, [] { return 0L; }, std::plus<>(), std::plus<>()), 49'995'000L);
  // One that returns a reference has changed its argument, and so has one that returns something else.
  auto const add = [](long& sum, int x) -> long& { return sum += x; };
  EXPECT_EQ(
      rubato::fold(pool, numbers, [] { return 0L; }, add, [](long& a, long& b) { a += b; }), 49'995'000L);
  auto const counts = rubato::fold(
      pool, numbers, [] { return std::map<int, int>(); }, [](auto& m, int x) { return m.emplace(x, x); },
      [](auto& a, auto&& b) { a.merge(b); });
  EXPECT_EQ(counts.size(), numbers.size());
}

TEST_P(fold_test, makes_a_histogram) {
  auto const numbers = up_to(100'000);
  using bins = std::array<unsigned, 256>;
  auto const bin = rubato::fold(
      pool, numbers, [] { return bins{}; }, [](bins& b, int x) { ++b[static_cast<std::size_t>(x) % 256]; },
      [](bins& a, bins const& b) {
        for (std::size_t i = 0; i != a.size(); ++i) a[i] += b[i];
      });
  for (std::size_t i = 0; i != 256; ++i) ASSERT_EQ(bin[i], 390U + (i < 160 ? 1 : 0));
}

TEST_P(fold_test, takes_accumulators_that_only_move) {
  auto const numbers = up_to(3'000);
  using list = std::unique_ptr<std::vector<int>>;
  auto const result = rubato::fold(
      pool, numbers, [] { return std::make_unique<std::vector<int>>(); },
      [](list& all, int x) { all->push_back(x); },
      [](list a, list b) {
        a->insert(a->end(), b->begin(), b->end());
        return a;
      });
  EXPECT_EQ(*result, numbers);
}

TEST_P(fold_test, takes_ranges_without_random_access) {
  std::list<int> const linked{1, 2, 3};
  std::istringstream text("1 2 3 4");
  auto const zero = [] { return 0; };
  EXPECT_EQ(rubato::fold(pool, linked, zero, std::plus<>(), std::plus<>()), 6);
  EXPECT_EQ(rubato::fold(pool, std::views::istream<int>(text), zero, std::plus<>(), std::plus<>()), 10);
  std::vector<bool> bits(1'000);
  bits[7] = bits[900] = true;
  EXPECT_EQ(rubato::fold(pool, bits, zero, [](int n, bool b) { return n + b; }, std::plus<>()), 2);
}

TEST_P(fold_test, makes_few_accumulators) {
  auto const numbers = up_to(100'000);
  std::atomic<int> made{0};
  auto const make = [&made] {
    ++made;
    return 0L;
  };
  EXPECT_EQ(rubato::fold(pool, numbers, make, std::plus<>(), std::plus<>()), 4'999'950'000L);
  EXPECT_GE(made.load(), 1);
  EXPECT_LE(made.load(), 10'000);
  EXPECT_TRUE(GetParam() != 0 || made.load() == 1);
}

TEST_P(fold_test, passes_on_what_any_of_the_three_throws) {
  leak_check const leaks;
  auto const numbers = up_to(5'000);
  for (int const bad : {0, 1, 100, 4'999}) {
    auto const at_add = thrown_by([&] {
      return rubato::fold(
          pool, numbers, [] { return counted(0); },
          [bad](counted& sum, int x) {
            if (x == bad) throw counted_error(bad);
            sum.value += x;
          },
          [](counted& a, counted const& b) { a.value += b.value; });
    });
    EXPECT_EQ(at_add, bad);
  }
  EXPECT_EQ(thrown_by([&] {
              return rubato::fold(
                  pool, numbers, []() -> counted { throw counted_error(8); }, [](counted&, int) {},
                  [](counted&, counted const&) {});
            }),
            8);
}

TEST_P(fold_test, ends_with_the_scope_around) {
  auto const numbers = up_to(5'000);
  bool ended = false;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.request_stop();
      try {
        static_cast<void>(rubato::fold(numbers, [] { return 0; }, std::plus<>(), std::plus<>()));
      } catch (rubato::cancelled const&) {
        ended = true;
      }
    });
  });
  EXPECT_TRUE(ended);
}

} // namespace
