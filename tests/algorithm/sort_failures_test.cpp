// sort with comparators that throw, stop, or are no order: each element is there once afterwards, and nothing
// outside the range was looked at.
#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <rubato/algorithm/order.hpp>
#include <rubato/cancelled.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace rubato_test;

namespace {

/// Owns memory, and counts in it how often it was compared. Not cheap to move, so it is swapped.
struct owner {
  std::unique_ptr<int> id;
  mutable std::unique_ptr<int> compared = std::make_unique<int>(0);
  explicit owner(int i)
      : id(std::make_unique<int>(i)) {}
  static int id_of(owner const& o) {
    ++*o.compared;
    return *o.id;
  }
};

/// Copied to registers. Knows whether it is one of those that are sorted.
struct marked {
  int id = 0;
  int mark = magic;
  explicit marked(int i)
      : id(i) {}
  static constexpr int magic = 0x5ad0;
  static int id_of(marked const& m) {
    if (m.mark != magic) outside = true;
    return m.id;
  }
  inline static std::atomic<bool> outside{false};
};

template<class T>
std::vector<T> made_of(std::vector<int> const& keys) {
  std::vector<T> v;
  v.reserve(keys.size());
  for (int const k : keys) v.push_back(T(k));
  return v;
}

/// Distinct keys in that arrangement, so that each element can be told from the others.
std::vector<int> distinct(std::size_t n, std::uint64_t seed) {
  std::vector<int> v = input_of(shape::sorted, n);
  scattered next(seed);
  for (std::size_t i = n; i > 1; --i) std::swap(v[i - 1], v[next.below(i)]);
  return v;
}

template<class T>
void expect_each_once(std::vector<T> const& v, std::size_t from = 0, std::size_t guards = 0) {
  std::vector<int> ids;
  for (std::size_t i = guards; i + guards < v.size(); ++i) ids.push_back(T::id_of(v[i]));
  std::ranges::sort(ids);
  for (std::size_t i = 0; i != ids.size(); ++i) ASSERT_EQ(ids[i], static_cast<int>(from + i));
}

class sort_failures : public on_workers {
protected:
  template<class T>
  void throw_at_calls(unsigned rounds, std::size_t n, bool in_reverse_order = false) {
    scattered next(n);
    for (unsigned round = 0; round != rounds; ++round) {
      auto keys = distinct(n, round);
      if (in_reverse_order) std::ranges::sort(keys, std::greater<>());
      auto v = made_of<T>(keys);
      std::atomic<std::size_t> calls{0};
      std::size_t const last = next.below(round % 2 == 0 ? n : 12 * n);
      auto const compare = [&](T const& a, T const& b) {
        if (calls.fetch_add(1, std::memory_order_relaxed) >= last) throw std::runtime_error("enough");
        return T::id_of(a) < T::id_of(b);
      };
      bool thrown = false;
      try {
        rubato::sort(pool, v, compare);
      } catch (std::runtime_error const&) {
        thrown = true;
      }
      ASSERT_EQ(thrown, calls.load() > last);
      ASSERT_NO_FATAL_FAILURE(expect_each_once(v));
    }
  }

  /// Sorts the middle of an array whose ends must neither change nor be compared.
  template<class T, class Compare>
  void sort_between_guards(std::vector<int> const& keys, Compare compare) {
    constexpr std::size_t guards = 64;
    std::vector<T> v;
    auto const poison = [&v] {
      for (std::size_t i = 0; i != guards; ++i) {
        v.push_back(T(-1));
        if constexpr (requires { v.back().mark; }) v.back().mark = 0;
      }
    };
    poison();
    for (int const k : keys) v.push_back(T(k));
    poison();
    rubato::sort(pool, v.begin() + guards, v.end() - guards, compare);
    for (std::size_t i = 0; i != guards; ++i) {
      ASSERT_EQ(T::id_of(v[i]), -1);
      ASSERT_EQ(T::id_of(v[v.size() - 1 - i]), -1);
    }
    marked::outside = false; // the guards that were just read
    ASSERT_NO_FATAL_FAILURE(expect_each_once(v, 0, guards));
  }

  template<class T>
  void sort_by_bad_comparators(std::size_t n) {
    auto const keys = distinct(n, n);
    marked::outside = false;
    auto const check = [&](auto compare) {
      auto const noting = [&compare](T const& a, T const& b) { return compare(T::id_of(a), T::id_of(b)); };
      ASSERT_NO_FATAL_FAILURE((sort_between_guards<T>(keys, noting)));
    };
    check([](int a, int b) { return a <= b; });
    check([](int, int) { return true; });
    check([](int, int) { return false; });
    check([](int a, int b) { return (a * 31 + b * 17) % 7 < 3; });
    std::atomic<std::uint64_t> state{n};
    check([&state](int, int) {
      return (scattered(state.fetch_add(1, std::memory_order_relaxed))() & 1U) != 0;
    });
    check([](int a, int b) { // as of NaNs
      double const x = a % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : a;
      return x < (b % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : b);
    });
  }
};
RUBATO_TEST_WITH_WORKERS(sort_failures, all_counts);

TEST_P(sort_failures, keep_each_element_that_owns_memory) { throw_at_calls<owner>(scaled(50), 5'000); }
TEST_P(sort_failures, keep_each_element_held_in_registers) { throw_at_calls<marked>(scaled(100), 5'000); }
TEST_P(sort_failures, keep_each_element_of_a_short_range) {
  throw_at_calls<owner>(scaled(100), 40);
  throw_at_calls<marked>(scaled(100), 40);
}
TEST_P(sort_failures, keep_each_element_of_a_long_range) { throw_at_calls<marked>(scaled(4), 150'000); }

TEST_P(sort_failures, keep_each_element_of_a_reversed_range) {
  throw_at_calls<owner>(scaled(20), 50'000, true);
  throw_at_calls<marked>(scaled(40), 50'000, true);
}

TEST_P(sort_failures, of_bad_comparators_stay_within_short_ranges) {
  for (std::size_t n = 0; n <= 300; n += under_tsan || GetParam() > 2 ? 7 : 1) {
    ASSERT_NO_FATAL_FAILURE(sort_by_bad_comparators<marked>(n)) << n;
    if (n % 3 == 0) {
      ASSERT_NO_FATAL_FAILURE(sort_by_bad_comparators<owner>(n)) << n;
    }
  }
}
TEST_P(sort_failures, of_bad_comparators_stay_within_long_ranges) {
  sort_by_bad_comparators<marked>(sized(100'000));
  sort_by_bad_comparators<owner>(sized(10'000));
}

TEST_P(sort_failures, of_a_stopped_scope_are_cancelled) {
  for (std::size_t const n : {5'000U, 100'000U}) {
    auto v = made_of<marked>(distinct(n, n));
    bool cancelled = false;
    pool.run([&] {
      rubato::with_scope([&](rubato::scope& s) {
        try {
          rubato::sort(v, [&](marked const& a, marked const& b) {
            s.request_stop();
            return marked::id_of(a) < marked::id_of(b);
          });
        } catch (rubato::cancelled const&) {
          cancelled = true;
        }
      });
    });
    EXPECT_TRUE(cancelled);
    expect_each_once(v);
  }
}

TEST_P(sort_failures, of_a_stopped_scope_keep_numbers_and_strings) {
  // Sorted by their representation: there is no comparator to stop it, so it is stopped before or not at all.
  auto const keys = distinct(sized(100'000), 1);
  auto numbers = keys;
  std::vector<std::string> strings;
  for (int const k : keys) strings.push_back(std::to_string(k));
  auto const expected = strings;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.request_stop();
      EXPECT_THROW(rubato::sort(numbers), rubato::cancelled);
      EXPECT_THROW(rubato::sort(strings), rubato::cancelled);
    });
  });
  EXPECT_TRUE(strings == expected) << "nothing had begun";
  std::ranges::sort(numbers);
  EXPECT_EQ(numbers, input_of(shape::sorted, numbers.size()));
}

} // namespace
