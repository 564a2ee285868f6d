// What sort takes of memory, and that it sorts where there is none.
#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "memory/failing.hpp"
#include "memory/peak.hpp"
#include "support/hang_guard.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <rubato/algorithm/order.hpp>
#include <rubato/pool.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace rubato_test;

namespace {

constexpr std::size_t many = under_asan ? 66'000 : 150'000;

/// Sorts of a thread of the pool: to become one may take memory.
class sort_memory : public on_workers {
protected:
  template<class T>
  static std::vector<T> numbers(std::size_t n = many) {
    std::vector<T> v(n);
    scattered next(n);
    for (T& x : v) x = static_cast<T>(next());
    return v;
  }
  static std::vector<std::string> strings() {
    std::vector<std::string> v(many);
    scattered next(1);
    for (auto& s : v) s = "key " + std::to_string(next());
    return v;
  }

  struct usage {
    std::size_t calls, most;
  };
  template<class Sort>
  usage of(Sort sort_it) {
    usage used{};
    pool.run([&] {
      memory_meter const meter;
      sort_it();
      used = {meter.calls(), meter.most()};
    });
    return used;
  }

  /// The pool may make threads and records of its own meanwhile, except if it has no workers.
  [[nodiscard]] std::size_t of_the_pool() const { return GetParam() == 0 ? 0 : std::size_t{150} << 10U; }
  template<class Sort>
  void expect_none(Sort sort_it) {
    auto const used = of(sort_it);
    EXPECT_LE(used.most, of_the_pool());
    if (GetParam() == 0) {
      EXPECT_EQ(used.calls, 0U);
    }
  }

  /// Of elements that are sorted by their representation.
  template<class T>
  void expect_as_much_as(std::vector<T> const& input) {
    auto v = input;
    rubato::sort(pool, v); // what the pool itself needs at its first work
    v = input;
    EXPECT_LE(of([&] { rubato::sort(v); }).most, many * sizeof(T) + (std::size_t{70} << 10U) + of_the_pool());
    EXPECT_TRUE(std::ranges::is_sorted(v));
    v = input;
    expect_none([&] { rubato::sort(std::in_place, v); });
    EXPECT_TRUE(std::ranges::is_sorted(v));
  }

  template<class T>
  void expect_sorted_if_allocations_fail(std::vector<T> const& input, bool once) {
    auto v = input;
    rubato::sort(pool, v);
    bool fails = true;
    for (std::int64_t k = 1; k <= 50 && fails; ++k) {
      v = input;
      pool.run([&] {
        failing_allocation const failing(k, once);
        rubato::sort(v);
        fails = failing_allocation::has_failed();
      });
      ASSERT_TRUE(std::ranges::is_sorted(v)) << k;
    }
    EXPECT_FALSE(fails) << "it takes few pieces of memory";
  }
};
RUBATO_TEST_WITH_WORKERS(sort_memory, all_counts);

TEST_P(sort_memory, is_that_of_as_many_numbers) {
  expect_as_much_as(numbers<std::uint64_t>());
  expect_as_much_as(numbers<std::int16_t>());
  expect_as_much_as(numbers<double>());
}
TEST_P(sort_memory, is_that_of_as_many_strings) { expect_as_much_as(strings()); }

TEST_P(sort_memory, is_none_with_a_comparator) {
  auto v = numbers<int>();
  auto const compare = [](int a, int b) { return a < b; };
  rubato::sort(pool, v, compare);
  v = numbers<int>();
  expect_none([&] { rubato::sort(v, compare); });
  expect_none([&] { rubato::sort(v, std::greater<>(), [](int x) { return x % 1'000; }); });
}

TEST_P(sort_memory, is_none_for_what_is_sorted_or_has_few_values) {
  auto v = input_of(shape::sorted, many);
  expect_none([&] { rubato::sort(v); });
  expect_none([&] { rubato::sort(v, std::greater<>()); });
  v = input_of(shape::ten_values, many);
  expect_none([&] { rubato::sort(v); });
  auto few = numbers<int>(60'000);
  expect_none([&] { rubato::sort(few); });
}

TEST_P(sort_memory, may_be_missing) {
  for (bool const once : {true, false}) {
    expect_sorted_if_allocations_fail(numbers<std::uint32_t>(), once);
    expect_sorted_if_allocations_fail(strings(), once);
  }
}

} // namespace
