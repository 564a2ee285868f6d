// `{}` in the place of a comparator, in every form of an algorithm.
#include <gtest/gtest.h>

#include "support/with_workers.hpp"

#include <rubato/algorithm/order.hpp>
#include <rubato/detail/algorithm/defaulted_forms.hpp>
#include <rubato/thread_pool.hpp>

#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

struct record {
  int key;
};

/// Tells where it got a pool, how many arguments came behind it, and whether the given ones are the defaults.
struct seen {
  bool pool;
  std::size_t arguments;
  bool defaulted; // the comparator is the default
  bool identity;  // the last argument is std::identity
};

template<class Default>
struct probe_fn : rubato::detail::defaulted_forms<probe_fn<Default>, Default> {
  template<class... Args>
  static seen on(rubato::pool* p, Args&&...) {
    using last = std::remove_cvref_t<decltype((std::declval<Args>(), ...))>;
    return {p != nullptr, sizeof...(Args), (std::is_same_v<std::remove_cvref_t<Args>, Default> || ...),
            std::is_same_v<last, std::identity>};
  }
};
inline constexpr probe_fn<std::ranges::less> probe{};
inline constexpr probe_fn<std::ranges::equal_to> probe_equal{};

void expect(seen const& got, bool pool, std::size_t arguments, bool defaulted, bool identity = false) {
  EXPECT_EQ(got.pool, pool);
  EXPECT_EQ(got.arguments, arguments);
  EXPECT_EQ(got.defaulted, defaulted);
  EXPECT_EQ(got.identity, identity);
}

TEST(default_comparator, stands_behind_ranges_or_iterators) {
  std::vector<int> v, w;
  rubato::pool p(rubato::no_workers);
  auto const b = v.begin();
  expect(probe(v), false, 1, false);
  expect(probe(v, {}), false, 2, true);
  expect(probe(v, {}, &record::key), false, 3, true);
  expect(probe(p, v, {}, &record::key), true, 3, true);
  expect(probe(p, std::in_place, v, {}, &record::key), true, 4, true);
  expect(probe(std::in_place, b, b, {}, &record::key), false, 5, true);
  expect(probe(v, w, b, {}, &record::key, &record::key), false, 6, true);
  expect(probe(p, b, b, b, b, b, {}, &record::key, &record::key), true, 8, true);
}

TEST(default_comparator, may_be_followed_by_a_default_projection) {
  std::vector<int> v;
  rubato::pool p(rubato::no_workers);
  auto const b = v.begin();
  expect(probe(v, {}, {}), false, 3, true, true);
  expect(probe(v, v, b, {}, {}, &record::key), false, 6, true);
  expect(probe(p, b, b, b, b, b, {}, {}), true, 7, true, true);
}

TEST(default_comparator, is_that_of_the_algorithm) {
  std::vector<int> v;
  expect(probe_equal(v, v, {}), false, 3, true);
  expect(probe_equal(v, v, std::ranges::equal_to{}), false, 3, true);
  expect(probe_equal(v, v, std::ranges::less{}), false, 3, false);
}

TEST(default_comparator, sorts) {
  rubato::pool p(rubato_test::with_workers(0));
  std::vector<record> v{{3}, {1}, {2}};
  auto const keys = [&] { return std::vector<int>{v[0].key, v[1].key, v[2].key}; };
  std::vector<int> const up{1, 2, 3}, down{3, 2, 1};
  EXPECT_EQ(rubato::sort(v, {}, &record::key), v.end());
  EXPECT_EQ(keys(), up);
  rubato::sort(v.begin(), v.end(), std::ranges::greater(), &record::key);
  EXPECT_EQ(keys(), down);
  rubato::sort(p, v, {}, &record::key);
  EXPECT_EQ(keys(), up);
  rubato::sort(p, std::in_place, v.begin(), v.end(), std::greater<>(), &record::key);
  EXPECT_EQ(keys(), down);
  rubato::sort(p, std::in_place, v, {}, &record::key);
  EXPECT_EQ(keys(), up);
}

} // namespace
