// map_to_vector: the results in order, of any type.
#include <gtest/gtest.h>

#include "algorithm/lengths.hpp"
#include "support/pools.hpp"
#include "support/values.hpp"

#include <rubato/algorithm/copies.hpp>
#include <rubato/thread_pool.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <ranges>
#include <sstream>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

using namespace rubato_test;

namespace {

class map_to_vector_test : public on_workers {};
RUBATO_TEST_WITH_WORKERS(map_to_vector_test, all_counts);

TEST_P(map_to_vector_test, keeps_the_order_at_every_seam) {
  std::vector<int> in((1U << 18U) + 1);
  for (std::size_t i = 0; i != in.size(); ++i) in[i] = static_cast<int>(i);
  pool.run([&] {
    for (auto const n : seam_lengths(1'100, 18)) {
      auto const part = std::ranges::subrange(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(n));
      auto const out = rubato::map_to_vector(part, [](int x) { return 2L * x; });
      ASSERT_EQ(out.size(), n);
      for (std::size_t i = 0; i != n; ++i) ASSERT_EQ(out[i], 2 * static_cast<long>(i));
    }
  });
}

TEST_P(map_to_vector_test, makes_results_of_any_type) {
  auto const numbers = std::views::iota(0, 5'000);
  std::vector<std::string> const words(100, "word");
  std::list<int> const linked{1, 2, 3};
  pool.run([&] {
    auto const others = rubato::map_to_vector(numbers, [](int x) { return only_constructible(x); });
    auto const owners = rubato::map_to_vector(numbers, [](int x) { return std::make_unique<int>(x); });
    auto const moved = rubato::map_to_vector(pool, numbers, [](int x) { return move_only(x); });
    auto const text = rubato::map_to_vector(numbers, [](int x) { return std::to_string(x); });
    auto const bits = rubato::map_to_vector(numbers, [](int x) { return x % 3 == 0; });
    static_assert(std::is_same_v<std::remove_const_t<decltype(bits)>, std::vector<bool>>);
    ASSERT_EQ(others.size() + owners.size() + moved.size() + text.size() + bits.size(), 25'000U);
    for (int x = 0; x != 5'000; ++x) {
      auto const i = static_cast<std::size_t>(x);
      ASSERT_TRUE(others[i].value == x && *owners[i] == x && moved[i].value == x);
      ASSERT_TRUE(text[i] == std::to_string(x) && bits[i] == (x % 3 == 0));
    }
    auto const same = rubato::map_to_vector(words, std::identity());
    static_assert(std::is_same_v<decltype(same.front()), std::reference_wrapper<std::string const> const&>);
    EXPECT_EQ(&same[99].get(), &words[99]);
    std::atomic<int> calls{0};
    EXPECT_EQ(rubato::map_to_vector(words, [&](auto&) { ++calls; }), std::vector<std::monostate>(100));
    EXPECT_EQ(calls.load(), 100);
    EXPECT_EQ(rubato::map_to_vector(linked, std::negate<>()), (std::vector{-1, -2, -3}));
    std::stringstream stream("4 5");
    EXPECT_EQ(rubato::map_to_vector(std::views::istream<int>(stream), std::negate<>()),
              (std::vector{-4, -5}));
    EXPECT_TRUE(
        rubato::map_to_vector(std::vector<int>(), [](int x) { return only_constructible(x); }).empty());
  });
}

TEST_P(map_to_vector_test, makes_trivial_structures) {
  struct pair_of_numbers {
    int low;
    double high;
  };
  auto const paired = [](int x) { return pair_of_numbers{x, x + 0.5}; };
  pool.run([&] {
    for (int const n : {0, 1, 5'000}) {
      auto out = rubato::map_to_vector(std::views::iota(0, n), paired);
      static_assert(std::is_same_v<decltype(out), std::vector<pair_of_numbers>>);
      ASSERT_EQ(out.size(), static_cast<std::size_t>(n));
      ASSERT_EQ(out.capacity(), out.size());
      out.push_back(paired(n));
      auto const copy = out;
      for (int x = 0; x <= n; ++x) {
        auto const& p = copy[static_cast<std::size_t>(x)];
        ASSERT_TRUE(p.low == x && p.high == x + 0.5);
      }
    }
  });
}

TEST_P(map_to_vector_test, frees_numbers_after_an_exception) {
  for (int const k : {0, 1, 1'999})
    EXPECT_EQ(thrown_by(pool,
                        [&] {
                          rubato::map_to_vector(std::views::iota(0, 2'000), [k](int x) {
                            if (x == k) throw counted_error(k);
                            return 2.0 * x;
                          });
                        }),
              k);
}

TEST_P(map_to_vector_test, makes_structures_with_alignment) {
  pool.run([&] {
    struct aligned_result : over_aligned {
      explicit aligned_result(int v)
          : over_aligned{v} {}
    };
    auto const out =
        rubato::map_to_vector(std::views::iota(0, 1'000), [](int x) { return aligned_result(x); });
    for (int x = 0; x != 1'000; ++x) {
      auto const& r = out[static_cast<std::size_t>(x)];
      ASSERT_TRUE(r.value == x && is_aligned(r));
    }
  });
}

TEST_P(map_to_vector_test, destroys_results_after_an_exception) {
  leak_check const leaks;
  for (int const k : {0, 1, 100, 1'999}) {
    std::atomic<int> calls{0};
    EXPECT_EQ(thrown_by(pool,
                        [&] {
                          rubato::map_to_vector(std::views::iota(0, 2'000), [&](int x) {
                            if (calls++ == k) throw counted_error(k);
                            return counted(x); // its default constructor may throw
                          });
                        }),
              k);
  }
}

} // namespace
