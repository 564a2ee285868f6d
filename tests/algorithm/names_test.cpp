// Elements and callables of a namespace that overloads what the algorithms might use by accident: the comma,
// the address of an object, and functions of the same names.
#include <gtest/gtest.h>

#include <rubato/algorithm.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <ranges>
#include <utility>
#include <vector>

namespace rubato_test::overloading {

template<class A, class B>
void operator,(A const&, B const&) = delete; // NOLINT(google-runtime-operator)

/// Names that a program may use as well. An unqualified call of the library would find these.
template<class... A>
void combined(A&&...) = delete;
template<class... A>
void cursor_at(A&&...) = delete;
template<class... A>
void find_element(A&&...) = delete;
template<class... A>
void heap_sort(A&&...) = delete;
template<class... A>
void insertion_sort(A&&...) = delete;
template<class... A>
void is_run(A&&...) = delete;
template<class... A>
void length_of(A&&...) = delete;
template<class... A>
void median_of_three(A&&...) = delete;
template<class... A>
void moved_by(A&&...) = delete;
template<class... A>
void pack(A&&...) = delete;
template<class... A>
void partition_elements(A&&...) = delete;
template<class... A>
void put(A&&...) = delete;
template<class... A>
void quicksort(A&&...) = delete;
template<class... A>
void reverse_elements(A&&...) = delete;
template<class... A>
void reverse_ends(A&&...) = delete;
template<class... A>
void scan(A&&...) = delete;
template<class... A>
void skip(A&&...) = delete;
template<class... A>
void sort_range(A&&...) = delete;
template<class... A>
void swap_elements(A&&...) = delete;

struct small {
  int key = 0;
  void operator&() const = delete; // NOLINT(google-runtime-operator)
};
struct owner {
  int key = 0;
  std::vector<int> owned{};
  void operator&() const = delete; // NOLINT(google-runtime-operator)
};

struct less {
  template<class A>
  bool operator()(A const& a, A const& b) const {
    return a.key < b.key;
  }
};
struct same {
  template<class A>
  bool operator()(A const& a, A const& b) const {
    return a.key == b.key;
  }
};
struct test {
  template<class A>
  bool operator()(A const& a) const {
    return a.key > 3;
  }
};
struct plus {
  template<class A>
  A operator()(A const& a, A const& b) const {
    return A{a.key + b.key};
  }
};
struct itself {
  template<class A>
  A operator()(A const& a) const {
    return a;
  }
};

/// Ordered by its last digit alone.
enum class digit : int {};
bool operator<(digit a, digit b) { return static_cast<int>(a) % 10 < static_cast<int>(b) % 10; }
void operator&(digit const&) = delete; // NOLINT(google-runtime-operator)

} // namespace rubato_test::overloading

namespace overloading = rubato_test::overloading;

namespace {

template<class V>
class overloaded_names : public testing::Test {};
using containers = testing::Types<std::vector<overloading::small>, std::vector<overloading::owner>,
                                  std::deque<overloading::small>, std::deque<overloading::owner>>;
TYPED_TEST_SUITE(overloaded_names, containers);

TYPED_TEST(overloaded_names, regression_are_not_called) {
  using value = std::ranges::range_value_t<TypeParam>;
  overloading::less const less;
  overloading::same const same;
  overloading::test const test;
  overloading::plus const plus;
  auto const fresh = [] {
    TypeParam made;
    for (int i = 0; i != 100; ++i) made.push_back(value{i * 37 % 100});
    return made;
  };
  auto v = fresh();
  TypeParam out(200);
  rubato::stable_sort(v, less);
  EXPECT_TRUE(rubato::is_sorted(v, less));
  rubato::merge(v, v, out.begin(), less);
  EXPECT_EQ(out[199].key, 99);
  v = fresh();
  rubato::nth_element(v, v.begin() + 40, less);
  EXPECT_EQ(v[40].key, 40);
  rubato::sort(v, less);
  EXPECT_EQ(v[99].key, 99);
  EXPECT_EQ(rubato::find_if(v, test) - v.begin(), 4);
  EXPECT_EQ(rubato::count_if(v, test), 96);
  EXPECT_FALSE(rubato::all_of(v, test));
  EXPECT_TRUE(rubato::equal(v, v, same));
  EXPECT_EQ(rubato::minmax_element(v, less).max - v.begin(), 99);
  EXPECT_EQ(rubato::copy_if(v, out.begin(), test).out - out.begin(), 96);
  EXPECT_EQ(rubato::filter(v, test).size(), 96U);
  EXPECT_EQ(rubato::map_to_vector(v, overloading::itself()).size(), 100U);
  EXPECT_EQ(rubato::transform(v, v, out.begin(), plus).out - out.begin(), 100);
  rubato::transform(v, out.begin(), overloading::itself());
  rubato::copy(v, out.begin());
  EXPECT_EQ(rubato::reduce(v, value{}, plus).key, 4'950);
  EXPECT_EQ(rubato::reduce(rubato::deterministic, v, value{}, plus, overloading::itself()).key, 4'950);
  EXPECT_EQ(rubato::reduce(v, v, value{}, plus, plus).key, 9'900);
  EXPECT_EQ(rubato::fold(v, [] { return value{}; }, plus, plus).key, 4'950);
  rubato::inclusive_scan(v, out.begin(), plus);
  EXPECT_EQ(out[99].key, 4'950);
  rubato::exclusive_scan(v, out.begin(), value{}, plus);
  EXPECT_EQ(rubato::partition(v, test).size(), 4U);
  EXPECT_EQ(rubato::stable_partition(v, test).size(), 4U);
  EXPECT_EQ(rubato::unique(v, same).size(), 0U);
  EXPECT_EQ(rubato::remove_if(v, test).size(), 96U);
  rubato::for_each(v, [](auto& x) { x.key = 1; });
  rubato::fill(v, v[7]);
  rubato::generate(v, [] { return value{2}; });
  EXPECT_EQ(v[50].key, 2);
}

TEST(overloaded_order, regression_of_enumerations) {
  std::vector<overloading::digit> v;
  for (int i = 0; i != 3'000; ++i) v.push_back(overloading::digit{(i * 7 + 5) % 1'000});
  EXPECT_EQ(rubato::min_element(v, std::less<>()) - v.begin(),
            std::ranges::min_element(v, std::less<>()) - v.begin());
  EXPECT_EQ(rubato::max_element(v, std::less<>()) - v.begin(),
            std::ranges::max_element(v, std::less<>()) - v.begin());
  auto const found = rubato::minmax_element(v, std::less<>());
  auto const expected = std::ranges::minmax_element(v, std::less<>());
  EXPECT_EQ(found.min - v.begin(), expected.min - v.begin());
  EXPECT_EQ(found.max - v.begin(), expected.max - v.begin());
  EXPECT_EQ(rubato::find(v, overloading::digit{12}) - v.begin(),
            std::ranges::find(v, overloading::digit{12}) - v.begin());
  EXPECT_EQ(rubato::count(v, overloading::digit{12}), 3);
}

} // namespace
