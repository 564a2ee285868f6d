// std::execution::par on Rubato: algorithms that order elements, beside the serial ones.
#include "pstl/standard.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

using namespace rubato_test;

namespace {

class standard_order : public standard_algorithms {};

TEST_P(standard_order, sort_sorts_every_shape) {
  for_lengths([](std::size_t n) {
    for (shape const s : all_shapes) {
      auto v = input_of(s, n), expected = v;
      std::sort(expected.begin(), expected.end());
      std::sort(par, v.begin(), v.end());
      ASSERT_EQ(v, expected) << n << ' ' << name_of(s);
    }
  });
}
TEST_P(standard_order, sort_takes_comparators_and_other_iterators) {
  for_lengths([](std::size_t n) {
    auto const input = input_of(shape::random, n);
    auto expected = input;
    std::sort(expected.begin(), expected.end(), std::greater<>());
    std::deque<int> d(input.begin(), input.end());
    std::sort(par, d.begin(), d.end(), [](int a, int b) { return a > b; });
    ASSERT_TRUE(std::equal(d.begin(), d.end(), expected.begin(), expected.end())) << n;
    auto v = input;
    std::sort(std::execution::par_unseq, v.rbegin(), v.rend());
    ASSERT_EQ(v, expected) << n;
  });
}
TEST_P(standard_order, sort_with_a_comparator_that_changes) {
  for_lengths([](std::size_t n) {
    auto v = input_of(shape::random, n), expected = v;
    std::sort(expected.begin(), expected.end());
    std::sort(par, v.begin(), v.end(), changing<std::less<>>());
    ASSERT_EQ(v, expected) << n;
    v = input_of(shape::random, n);
    std::size_t const middle = n / 3;
    std::partial_sort(par, v.begin(), v.begin() + static_cast<std::ptrdiff_t>(middle), v.end(),
                      changing<std::less<>>());
    ASSERT_TRUE(std::equal(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(middle), expected.begin()))
        << n;
  });
}
TEST_P(standard_order, sorts_elements_that_own_memory) {
  for_lengths([](std::size_t n) {
    auto const numbers = numbers_below(1000, n);
    auto sorted = numbers;
    std::sort(sorted.begin(), sorted.end());
    auto pointers = owned(numbers);
    std::sort(par, pointers.begin(), pointers.end(), less_owned);
    ASSERT_EQ(rubato_test::values_of(pointers), sorted) << n;
    auto texts = texts_of(numbers), expected = texts;
    std::sort(expected.begin(), expected.end());
    std::sort(par, texts.begin(), texts.end());
    ASSERT_EQ(texts, expected) << n;
  });
}
TEST_P(standard_order, stable_sort_keeps_the_order_of_equal_elements) {
  for_lengths([](std::size_t n) {
    std::vector<std::pair<int, std::size_t>> v(n);
    auto const keys = numbers_below(10, n);
    for (std::size_t i = 0; i != n; ++i) v[i] = {keys[i], i};
    auto expected = v;
    std::sort(expected.begin(), expected.end());
    std::stable_sort(par, v.begin(), v.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    ASSERT_EQ(v, expected) << n;
  });
}
TEST_P(standard_order, partial_sort_brings_the_least_to_the_front) {
  for_lengths([](std::size_t n) {
    for (std::size_t const front : {std::size_t{0}, std::size_t{1}, n / 100, n / 3, n - n / 50, n}) {
      if (front > n) continue;
      auto const input = numbers_below(static_cast<int>(n / 2 + 1), n);
      auto sorted = input;
      std::sort(sorted.begin(), sorted.end());
      auto const middle = static_cast<std::ptrdiff_t>(front);
      auto v = input;
      std::partial_sort(par, v.begin(), v.begin() + middle, v.end());
      ASSERT_TRUE(std::equal(v.begin(), v.begin() + middle, sorted.begin())) << n << ' ' << front;
      std::sort(v.begin(), v.end());
      ASSERT_EQ(v, sorted) << n << ' ' << front;
      auto pointers = owned(input);
      std::partial_sort(par, pointers.begin(), pointers.begin() + middle, pointers.end(), less_owned);
      v = rubato_test::values_of(pointers);
      ASSERT_TRUE(std::equal(v.begin(), v.begin() + middle, sorted.begin())) << n << ' ' << front;
      std::sort(v.begin(), v.end());
      ASSERT_EQ(v, sorted) << n << ' ' << front;
    }
  });
}
// Its leaves construct in memory where nothing is.
TEST_P(standard_order, partial_sort_copy_of_elements_that_own_memory) {
  for_lengths([](std::size_t n) {
    auto const input = texts_of(numbers_below(1000, n));
    for (std::size_t const room : {std::size_t{1}, n / 10, n, n + 10}) {
      std::vector<std::string> out(room), expected(room);
      auto const end = std::partial_sort_copy(par, input.begin(), input.end(), out.begin(), out.end());
      auto const expected_end =
          std::partial_sort_copy(input.begin(), input.end(), expected.begin(), expected.end());
      ASSERT_EQ(end - out.begin(), expected_end - expected.begin()) << n << ' ' << room;
      ASSERT_EQ(out, expected) << n << ' ' << room;
    }
  });
}
TEST_P(standard_order, nth_element_has_no_greater_one_in_front) {
  for_lengths([](std::size_t n) {
    if (n == 0) return;
    auto v = numbers_below(1000, n), sorted = v;
    std::sort(sorted.begin(), sorted.end());
    auto const nth = v.begin() + static_cast<std::ptrdiff_t>(n / 3);
    std::nth_element(par, v.begin(), nth, v.end());
    ASSERT_EQ(*nth, sorted[n / 3]) << n;
    ASSERT_TRUE(std::all_of(v.begin(), nth, [&](int x) { return x <= *nth; })) << n;
    ASSERT_TRUE(std::all_of(nth, v.end(), [&](int x) { return x >= *nth; })) << n;
    std::sort(v.begin(), v.end());
    ASSERT_EQ(v, sorted) << n;
  });
}
TEST_P(standard_order, merge_is_stable) {
  for_lengths([](std::size_t n) {
    using item = std::pair<int, int>;
    auto const by_key = [](item const& a, item const& b) { return a.first < b.first; };
    for (int const bound : {1, 10, 100'000})
      for (std::size_t const m : {n, n / 7, std::size_t{0}}) {
        std::vector<item> a, b;
        for (int const x : numbers_below(bound, n)) a.emplace_back(x, 1);
        for (int const x : numbers_below(bound, m, 2)) b.emplace_back(x, 2);
        std::stable_sort(a.begin(), a.end(), by_key);
        std::stable_sort(b.begin(), b.end(), by_key);
        std::vector<item> expected(n + m), out(n + m);
        std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin(), by_key);
        ASSERT_EQ(std::merge(par, a.begin(), a.end(), b.begin(), b.end(), out.begin(), by_key), out.end());
        ASSERT_EQ(out, expected) << n << ' ' << m << ' ' << bound;
      }
  });
}
TEST_P(standard_order, inplace_merge_moves_elements_that_own_memory) {
  for_lengths([](std::size_t n) {
    auto numbers = numbers_below(1000, n);
    auto const middle = static_cast<std::ptrdiff_t>(n / 3);
    std::sort(numbers.begin(), numbers.begin() + middle);
    std::sort(numbers.begin() + middle, numbers.end());
    auto pointers = owned(numbers);
    std::inplace_merge(par, pointers.begin(), pointers.begin() + middle, pointers.end(), less_owned);
    std::sort(numbers.begin(), numbers.end());
    ASSERT_EQ(rubato_test::values_of(pointers), numbers) << n;
  });
}
TEST_P(standard_order, sets_are_those_of_the_serial_algorithms) {
  for_lengths([](std::size_t n) {
    // Few values: runs of equal elements that are longer than the parts that one thread takes.
    for (int const bound : {2, 5, 100, 100'000}) {
      auto a = numbers_below(bound, n), b = numbers_below(bound + bound / 3, n - n / 3, 2);
      std::sort(a.begin(), a.end());
      std::sort(b.begin(), b.end());
      auto const compare = [&](auto algorithm, char const* name) {
        std::vector<int> expected(a.size() + b.size()), out(a.size() + b.size());
        expected.erase(algorithm(std::execution::seq, expected.begin()), expected.end());
        out.erase(algorithm(par, out.begin()), out.end());
        ASSERT_EQ(out, expected) << name << ' ' << n << ' ' << bound;
      };
      auto const first = a.begin(), last = a.end(), first2 = b.begin(), last2 = b.end();
      compare(
          [&](auto const& policy, auto to) { return std::set_union(policy, first, last, first2, last2, to); },
          "union");
      compare([&](auto const& policy,
                  auto to) { return std::set_intersection(policy, first, last, first2, last2, to); },
              "intersection");
      compare([&](auto const& policy,
                  auto to) { return std::set_difference(policy, first, last, first2, last2, to); },
              "difference");
      compare([&](auto const& policy,
                  auto to) { return std::set_symmetric_difference(policy, first, last, first2, last2, to); },
              "symmetric difference");
      ASSERT_EQ(std::includes(par, first, last, first2, last2), std::includes(first, last, first2, last2));
      ASSERT_TRUE(std::includes(par, first, last, first, first + (last - first) / 2));
    }
  });
}
// The algorithm calls the two halves of its work at once.
TEST_P(standard_order, union_of_ranges_one_behind_the_other) {
  for_lengths([](std::size_t n) {
    std::vector<int> a(n), b(n + 1), out(2 * n + 1), expected(2 * n + 1);
    for (std::size_t i = 0; i != n; ++i) a[i] = static_cast<int>(i);
    for (std::size_t i = 0; i != n + 1; ++i) b[i] = static_cast<int>(n + i);
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), expected.begin());
    ASSERT_EQ(std::set_union(par, a.begin(), a.end(), b.begin(), b.end(), out.begin()), out.end()) << n;
    ASSERT_EQ(out, expected) << n;
    ASSERT_EQ(std::set_union(par, b.begin(), b.end(), a.begin(), a.end(), out.begin()), out.end()) << n;
    ASSERT_EQ(out, expected) << n;
  });
}
TEST_P(standard_order, questions_about_order) {
  for_lengths([](std::size_t n) {
    for (std::size_t const wrong : {n, n / 2, n - 1}) {
      auto v = input_of(shape::sorted, n);
      if (wrong < n) v[wrong] = -1;
      ASSERT_EQ(std::is_sorted(par, v.begin(), v.end()), std::is_sorted(v.begin(), v.end())) << n;
      ASSERT_EQ(std::is_sorted_until(par, v.begin(), v.end()), std::is_sorted_until(v.begin(), v.end())) << n;
      std::make_heap(v.begin(), v.end());
      if (wrong < n) v[wrong] = static_cast<int>(n);
      ASSERT_EQ(std::is_heap_until(par, v.begin(), v.end()), std::is_heap_until(v.begin(), v.end())) << n;
      auto const is_small = [&](int x) { return x < static_cast<int>(n / 4); };
      ASSERT_EQ(std::is_partitioned(par, v.begin(), v.end(), is_small),
                std::is_partitioned(v.begin(), v.end(), is_small))
          << n;
    }
  });
}

RUBATO_TEST_WITH_WORKERS(standard_order, all_counts);

} // namespace
