// std::execution::par on Rubato: algorithms that go over their input, beside the serial ones.
#include "pstl/standard.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

using namespace rubato_test;

namespace {

class standard_passes : public standard_algorithms {};

bool is_even(int x) { return x % 2 == 0; }

TEST_P(standard_passes, each_element_once) {
  for_lengths([](std::size_t n) {
    std::vector<int> v(n, 1), out(n), expected(n);
    std::atomic<std::size_t> calls{0};
    std::for_each(par, v.begin(), v.end(), [&](int& x) { ++calls, x = 2; });
    ASSERT_EQ(calls, n);
    ASSERT_EQ(v, std::vector<int>(n, 2)) << n;
    std::for_each_n(par, v.begin(), n, [](int& x) { ++x; });
    ASSERT_EQ(std::count(par, v.begin(), v.end(), 3), static_cast<std::ptrdiff_t>(n));
    auto const input = numbers_below(1000, n);
    std::transform(par, input.begin(), input.end(), v.begin(), out.begin(), std::plus<>());
    std::transform(input.begin(), input.end(), v.begin(), expected.begin(), std::plus<>());
    ASSERT_EQ(out, expected) << n;
    std::vector<std::string> texts(n);
    std::transform(par, input.begin(), input.end(), texts.begin(), as_text);
    ASSERT_EQ(texts, texts_of(input)) << n;
  });
}
TEST_P(standard_passes, fills_copies_and_exchanges) {
  for_lengths([](std::size_t n) {
    auto const input = numbers_below(1000, n);
    std::vector<int> v(n), out(n), expected(n);
    std::copy(par, input.begin(), input.end(), v.begin());
    ASSERT_EQ(v, input);
    std::reverse(par, v.begin(), v.end());
    std::reverse_copy(par, v.begin(), v.end(), out.begin());
    ASSERT_EQ(out, input) << n;
    auto const middle = static_cast<std::ptrdiff_t>(n / 3);
    v = input;
    expected = input;
    std::rotate(par, v.begin(), v.begin() + middle, v.end());
    std::rotate(expected.begin(), expected.begin() + middle, expected.end());
    ASSERT_EQ(v, expected) << n;
    std::replace_if(par, v.begin(), v.end(), is_even, 7);
    std::replace_if(expected.begin(), expected.end(), is_even, 7);
    ASSERT_EQ(v, expected) << n;
    std::swap_ranges(par, v.begin(), v.end(), out.begin());
    ASSERT_EQ(out, expected) << n;
    std::adjacent_difference(par, out.begin(), out.end(), v.begin());
    std::adjacent_difference(out.begin(), out.end(), expected.begin());
    ASSERT_EQ(v, expected) << n;
    std::fill(par, v.begin(), v.end(), 5);
    ASSERT_EQ(v, std::vector<int>(n, 5)) << n;
    std::allocator<std::string> room;
    std::string* const made = room.allocate(n + 1);
    std::uninitialized_fill(par, made, made + n, as_text(1));
    ASSERT_TRUE(std::all_of(made, made + n, [](std::string const& s) { return s == as_text(1); })) << n;
    std::destroy(par, made, made + n);
    room.deallocate(made, n + 1);
  });
}
TEST_P(standard_passes, reductions) {
  for_lengths([](std::size_t n) {
    auto const v = numbers_below(1000, n);
    ASSERT_EQ(std::reduce(par, v.begin(), v.end()), std::accumulate(v.begin(), v.end(), 0)) << n;
    ASSERT_EQ(std::reduce(par, v.begin(), v.end(), 5L), std::accumulate(v.begin(), v.end(), 5L)) << n;
    std::vector<std::int64_t> const w(v.begin(), v.end());
    ASSERT_EQ(std::transform_reduce(par, w.begin(), w.end(), w.begin(), std::int64_t{3}),
              std::inner_product(w.begin(), w.end(), w.begin(), std::int64_t{3}))
        << n;
    auto const square = [](int x) { return std::int64_t{x} * x; };
    ASSERT_EQ(std::transform_reduce(par, v.begin(), v.end(), std::int64_t{0}, std::plus<>(), square),
              std::transform_reduce(v.begin(), v.end(), std::int64_t{0}, std::plus<>(), square))
        << n;
    ASSERT_EQ(std::reduce(par, v.begin(), v.end(), std::int64_t{1}, changing<std::plus<std::int64_t>>()),
              std::accumulate(v.begin(), v.end(), std::int64_t{1}))
        << n;
  });
}
// An operator that is only associative shows a wrong order.
TEST_P(standard_passes, reductions_and_scans_keep_the_order) {
  for_lengths([](std::size_t n) {
    if (n > 4097) return;
    std::vector<std::string> v(n), out(n), expected(n);
    for (std::size_t i = 0; i != n; ++i) v[i] = std::string(1, static_cast<char>('a' + i % 26));
    std::string const first = "begin ";
    ASSERT_EQ(std::reduce(par, v.begin(), v.end(), first), std::accumulate(v.begin(), v.end(), first)) << n;
    if (n > 1000) return;
    std::inclusive_scan(par, v.begin(), v.end(), out.begin(), std::plus<>(), first);
    std::inclusive_scan(v.begin(), v.end(), expected.begin(), std::plus<>(), first);
    ASSERT_EQ(out, expected) << n;
    std::exclusive_scan(par, v.begin(), v.end(), out.begin(), first, std::plus<>());
    std::exclusive_scan(v.begin(), v.end(), expected.begin(), first, std::plus<>());
    ASSERT_EQ(out, expected) << n;
  });
}
TEST_P(standard_passes, scans_of_integers) {
  for_lengths([](std::size_t n) {
    auto const v = numbers_below(1000, n);
    std::vector<std::int64_t> out(n), expected(n);
    ASSERT_EQ(std::inclusive_scan(par, v.begin(), v.end(), out.begin()), out.end());
    std::inclusive_scan(v.begin(), v.end(), expected.begin());
    ASSERT_EQ(out, expected) << n;
    std::exclusive_scan(par, v.begin(), v.end(), out.begin(), std::int64_t{7},
                        changing<std::plus<std::int64_t>>());
    std::exclusive_scan(v.begin(), v.end(), expected.begin(), std::int64_t{7}, std::plus<>());
    ASSERT_EQ(out, expected) << n;
    auto const square = [](std::int64_t x) { return x * x; };
    std::transform_inclusive_scan(par, v.begin(), v.end(), out.begin(), std::plus<>(), square);
    std::transform_inclusive_scan(v.begin(), v.end(), expected.begin(), std::plus<>(), square);
    ASSERT_EQ(out, expected) << n;
    std::transform_exclusive_scan(par, v.begin(), v.end(), out.begin(), 1, std::plus<>(), is_even);
    std::transform_exclusive_scan(v.begin(), v.end(), expected.begin(), 1, std::plus<>(), is_even);
    ASSERT_EQ(out, expected) << n;
    auto in_place = v;
    std::inclusive_scan(par, in_place.begin(), in_place.end(), in_place.begin());
    std::inclusive_scan(v.begin(), v.end(), expected.begin());
    ASSERT_TRUE(std::equal(in_place.begin(), in_place.end(), expected.begin())) << n;
  });
}
// Whole numbers: any order of the additions gives the same.
TEST_P(standard_passes, scans_of_floating_point_numbers) {
  for_lengths([](std::size_t n) {
    auto const numbers = numbers_below(1000, n);
    std::vector<double> const v(numbers.begin(), numbers.end());
    std::vector<double> out(n), expected(n);
    ASSERT_EQ(std::inclusive_scan(par, v.begin(), v.end(), out.begin()), out.end());
    std::inclusive_scan(v.begin(), v.end(), expected.begin());
    ASSERT_EQ(out, expected) << n;
    ASSERT_EQ(std::exclusive_scan(par, v.begin(), v.end(), out.begin(), 5.0), out.end());
    std::exclusive_scan(v.begin(), v.end(), expected.begin(), 5.0);
    ASSERT_EQ(out, expected) << n;
    auto const twice = [](double x) { return 2 * x; };
    std::transform_inclusive_scan(par, v.begin(), v.end(), out.begin(), std::plus<>(), twice, 1.0);
    std::transform_inclusive_scan(v.begin(), v.end(), expected.begin(), std::plus<>(), twice, 1.0);
    ASSERT_EQ(out, expected) << n;
    auto in_place = v;
    std::inclusive_scan(par, in_place.begin(), in_place.end(), in_place.begin());
    std::inclusive_scan(v.begin(), v.end(), expected.begin());
    ASSERT_EQ(in_place, expected) << n;
  });
}
// So long that the caller shares what it has begun.
TEST_P(standard_passes, scans_that_take_a_while) {
  auto const slowly = [](auto x) {
    double volatile spent = 1;
    for (int i = 0; i != 200; ++i) spent = spent * 1.5 - 0.5;
    return x;
  };
  pool.run([&] {
    std::size_t const n = 3000;
    auto const v = numbers_below(1000, n);
    std::vector<int> out(n), expected(n);
    std::transform_inclusive_scan(par, v.begin(), v.end(), out.begin(), std::plus<>(), slowly);
    std::inclusive_scan(v.begin(), v.end(), expected.begin());
    EXPECT_EQ(out, expected);
    std::vector<double> real(n), expected_real(n);
    std::transform_exclusive_scan(par, v.begin(), v.end(), real.begin(), 1.0, std::plus<>(), slowly);
    std::exclusive_scan(v.begin(), v.end(), expected_real.begin(), 1.0);
    EXPECT_EQ(real, expected_real);
  });
}
TEST_P(standard_passes, searches_find_the_first) {
  for_lengths([](std::size_t n) {
    for (std::size_t const at : {n, std::size_t{0}, n / 2, n - 1}) {
      std::vector<int> v(n);
      std::iota(v.begin(), v.end(), 0);
      for (std::size_t i = at; i < n; i += 3) v[i] = -1;
      auto const place = v.begin() + static_cast<std::ptrdiff_t>(std::min(at, n));
      ASSERT_EQ(std::find(par, v.begin(), v.end(), -1), place) << n << ' ' << at;
      auto const is_negative = [](int x) { return x < 0; };
      ASSERT_EQ(std::find_if(par, v.begin(), v.end(), is_negative), place) << n << ' ' << at;
      ASSERT_EQ(std::any_of(par, v.begin(), v.end(), is_negative), at < n) << n << ' ' << at;
      ASSERT_EQ(std::none_of(par, v.begin(), v.end(), is_negative), at >= n) << n << ' ' << at;
      ASSERT_EQ(std::all_of(par, v.begin(), v.end(), [](int x) { return x >= 0; }), at >= n)
          << n << ' ' << at;
      ASSERT_EQ(std::min_element(par, v.begin(), v.end()), std::min_element(v.begin(), v.end())) << n;
      ASSERT_EQ(std::minmax_element(par, v.begin(), v.end()), std::minmax_element(v.begin(), v.end())) << n;
      std::vector<int> const pattern{-1, static_cast<int>(at) + 1};
      ASSERT_EQ(std::search(par, v.begin(), v.end(), pattern.begin(), pattern.end()),
                std::search(v.begin(), v.end(), pattern.begin(), pattern.end()))
          << n;
      ASSERT_EQ(std::find_end(par, v.begin(), v.end(), pattern.begin(), pattern.end()),
                std::find_end(v.begin(), v.end(), pattern.begin(), pattern.end()))
          << n;
      auto w = v;
      if (at + 1 < n) w[at + 1] = -1;
      ASSERT_EQ(std::adjacent_find(par, w.begin(), w.end()), std::adjacent_find(w.begin(), w.end())) << n;
      ASSERT_EQ(std::mismatch(par, v.begin(), v.end(), w.begin()),
                std::mismatch(v.begin(), v.end(), w.begin()));
      ASSERT_EQ(std::equal(par, v.begin(), v.end(), w.begin(), w.end()), v == w) << n;
      ASSERT_EQ(std::lexicographical_compare(par, v.begin(), v.end(), w.begin(), w.end()), v < w) << n;
    }
  });
}
TEST_P(standard_passes, choices) {
  for_lengths([](std::size_t n) {
    for (int const bound : {1, 2, 1000}) {
      auto const v = numbers_below(bound, n);
      std::vector<int> out(n), expected(n);
      out.erase(std::copy_if(par, v.begin(), v.end(), out.begin(), is_even), out.end());
      expected.erase(std::copy_if(v.begin(), v.end(), expected.begin(), is_even), expected.end());
      ASSERT_EQ(out, expected) << n << ' ' << bound;
      auto odd_ones = owned(v);
      odd_ones.erase(
          std::remove_if(par, odd_ones.begin(), odd_ones.end(), [](auto const& p) { return is_even(*p); }),
          odd_ones.end());
      expected.resize(n);
      expected.erase(std::remove_copy_if(v.begin(), v.end(), expected.begin(), is_even), expected.end());
      ASSERT_EQ(rubato_test::values_of(odd_ones), expected) << n << ' ' << bound;
      auto texts = texts_of(v), expected_texts = texts;
      texts.erase(std::unique(par, texts.begin(), texts.end()), texts.end());
      expected_texts.erase(std::unique(expected_texts.begin(), expected_texts.end()), expected_texts.end());
      ASSERT_EQ(texts, expected_texts) << n << ' ' << bound;
      std::vector<int> rest(n);
      out.resize(n);
      auto const ends = std::partition_copy(par, v.begin(), v.end(), out.begin(), rest.begin(), is_even);
      ASSERT_EQ(ends.first - out.begin(), std::count_if(v.begin(), v.end(), is_even)) << n << ' ' << bound;
    }
  });
}
TEST_P(standard_passes, partitions) {
  for_lengths([](std::size_t n) {
    auto const is_even_one = [](auto const& p) { return is_even(*p); };
    auto const v = numbers_below(1000, n);
    auto pointers = owned(v);
    auto const end = std::partition(par, pointers.begin(), pointers.end(), is_even_one);
    ASSERT_EQ(end - pointers.begin(), std::count_if(v.begin(), v.end(), is_even)) << n;
    ASSERT_TRUE(std::is_partitioned(pointers.begin(), pointers.end(), is_even_one)) << n;
    auto all = rubato_test::values_of(pointers), expected = v;
    std::sort(all.begin(), all.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(all, expected) << n;
    pointers = owned(v);
    expected = v;
    std::stable_partition(par, pointers.begin(), pointers.end(), is_even_one);
    std::stable_partition(expected.begin(), expected.end(), is_even);
    ASSERT_EQ(rubato_test::values_of(pointers), expected) << n;
  });
}

RUBATO_TEST_WITH_WORKERS(standard_passes, all_counts);

} // namespace
