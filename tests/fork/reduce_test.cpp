// reduce: any associative operator, order kept, init used once.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/thread_pool.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace rubato_test;

namespace {

/// Everything here holds for both forms, with the tag and without.
enum class form { plain, deterministic };

class reduces : public testing::TestWithParam<std::tuple<unsigned, form>> {
protected:
  hang_guard guard;
  rubato::pool pool{rubato_test::with_workers(std::get<0>(GetParam()))};

  /// Calls rubato::reduce on the pool, in the form under test.
  template<class... Args>
  auto reduce(Args&&... args) {
    return pool.run([&] {
      return std::get<1>(GetParam()) == form::plain
                 ? rubato::reduce(std::forward<Args>(args)...)
                 : rubato::reduce(rubato::deterministic, std::forward<Args>(args)...);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(workers, reduces,
                         testing::Combine(testing::ValuesIn(all_counts),
                                          testing::Values(form::plain, form::deterministic)),
                         [](auto const& parameter) {
                           return std::to_string(std::get<0>(parameter.param)) +
                                  (std::get<1>(parameter.param) == form::plain ? "_plain" : "_deterministic");
                         });

TEST_P(reduces, to_the_sum) {
  std::vector<std::uint64_t> numbers(sized(1'000'000));
  std::iota(numbers.begin(), numbers.end(), 0U);
  EXPECT_EQ(reduce(numbers, std::uint64_t{0}, std::plus<>{}), numbers.size() * (numbers.size() - 1) / 2);
}

TEST_P(reduces, in_order) {
  for (int const length : {1, 2, 3, 10, 1'000, 10'000}) {
    std::vector<std::string> words;
    std::string expected = "words: ";
    for (int i = 0; i != length; ++i) {
      words.push_back(std::to_string(i) + " ");
      expected += words.back();
    }
    ASSERT_EQ(reduce(words, std::string("words: "), std::plus<>{}), expected);
  }
}

TEST_P(reduces, with_operators_that_do_not_commute) {
  // Affine maps x -> ax + b modulo 2^64, in the order of application.
  struct affine {
    std::uint64_t a;
    std::uint64_t b;
    bool operator==(affine const&) const = default;
  };
  auto const then = [](affine f, affine g) { return affine{g.a * f.a, g.a * f.b + g.b}; };
  std::vector<affine> maps;
  for (std::uint64_t i = 0; i != 20'000; ++i) maps.push_back({2 * i + 1, i * i});
  affine const start{3, 5};
  EXPECT_EQ(reduce(maps, start, then), std::accumulate(maps.begin(), maps.end(), start, then));
}

TEST_P(reduces, with_init_used_once) {
  for (std::size_t const length : {0U, 1U, 2U, 7U, 64U, 4'096U, 50'000U}) {
    std::vector<int> const ones(length, 1);
    ASSERT_EQ(reduce(ones, 1'000'000, std::plus<>{}), 1'000'000 + static_cast<int>(length));
  }
}

TEST_P(reduces, an_empty_range_to_init) {
  EXPECT_EQ(reduce(std::vector<int>{}, 17, std::plus<>{}), 17);
  EXPECT_EQ(reduce(std::vector<std::string>{}, std::string("nothing"), std::plus<>{}), "nothing");
  EXPECT_EQ(reduce(
                std::vector<int>{}, move_only(3), [](move_only a, move_only) { return a; },
                [](int n) { return move_only(n); })
                .value,
            3);
}

TEST_P(reduces, through_a_map) {
  std::vector<int> numbers(5'000);
  std::iota(numbers.begin(), numbers.end(), 1);
  std::atomic<std::size_t> calls{0};
  auto const sum = reduce(numbers, std::int64_t{0}, std::plus<>{}, [&](int n) {
    ++calls;
    return std::int64_t{n} * n;
  });
  EXPECT_EQ(sum, 41'679'167'500);
  EXPECT_EQ(calls.load(), numbers.size()) << "each element is mapped once";
}

TEST_P(reduces, through_a_member_pointer) {
  struct item {
    int weight;
    int doubled() const { return 2 * weight; }
  };
  std::vector<item> const items(1'000, item{3});
  EXPECT_EQ(reduce(items, 0, std::plus<>{}, &item::weight), 3'000);
  EXPECT_EQ(reduce(items, 0, std::plus<>{}, &item::doubled), 6'000);
}

TEST_P(reduces, with_one_operator_call_less_than_there_are_terms) {
  std::vector<int> const ones(10'000, 1);
  std::atomic<int> calls{0};
  auto const sum = reduce(ones, 0, [&](int a, int b) {
    ++calls;
    return a + b;
  });
  EXPECT_EQ(sum, 10'000);
  EXPECT_EQ(calls.load(), 10'000); // 10,000 elements and init
}

TEST_P(reduces, to_a_type_that_only_moves) {
  std::vector<int> numbers(3'000);
  std::iota(numbers.begin(), numbers.end(), 0);
  using list = std::unique_ptr<std::vector<int>>;
  auto const splice = [](list a, list b) {
    a->insert(a->end(), b->begin(), b->end());
    return a;
  };
  auto const result = reduce(numbers, std::make_unique<std::vector<int>>(), splice,
                             [](int n) { return std::make_unique<std::vector<int>>(1, n); });
  EXPECT_EQ(*result, numbers);
}

TEST_P(reduces, to_a_type_without_default_constructor) {
  struct sum {
    explicit sum(int v)
        : value(v) {}
    int value;
  };
  std::vector<int> const ones(3'000, 1);
  auto const add = [](sum a, sum b) { return sum(a.value + b.value); };
  EXPECT_EQ(reduce(ones, sum(5), add, [](int n) { return sum(n); }).value, 3'005);
}

TEST_P(reduces, to_the_type_of_init) {
  std::vector<std::uint8_t> const bytes(1'000, 255);
  auto const total = reduce(bytes, 0U, std::plus<>{});
  static_assert(std::is_same_v<decltype(total), unsigned const>);
  EXPECT_EQ(total, 255'000U);
}

TEST_P(reduces, without_losing_or_leaking_a_term) {
  leak_check const leaks;
  std::vector<int> const ones(2'000, 1);
  auto const add = [](counted a, counted const& b) {
    a.value += b.value;
    return a;
  };
  EXPECT_EQ(reduce(ones, counted(0), add, [](int n) { return counted(n); }).value, 2'000);
}

TEST_P(reduces, containers_and_views_with_random_access) {
  std::vector<int> numbers(2'000);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::deque<int> const queue(numbers.begin(), numbers.end());
  auto const text = [](int n) { return std::to_string(n); };
  std::string expected;
  for (int const n : numbers) expected += text(n);
  EXPECT_EQ(reduce(queue, std::string(), std::plus<>{}, text), expected);
  EXPECT_EQ(reduce(std::views::iota(0, 2'000), std::string(), std::plus<>{}, text), expected);
  EXPECT_EQ(reduce(numbers | std::views::transform(text), std::string(), std::plus<>{}), expected);
  std::vector<bool> bits(1'000);
  bits[3] = bits[999] = true;
  EXPECT_EQ(reduce(bits, 0, std::plus<>{}, [](bool bit) { return bit ? 1 : 0; }), 2);
}

TEST_P(reduces, iterators_too) {
  std::vector<int> const numbers{1, 2, 3, 4, 5};
  EXPECT_EQ(reduce(numbers.begin() + 1, numbers.end(), 100, std::plus<>{}), 114);
  EXPECT_EQ(reduce(numbers.begin(), numbers.end(), 1, std::multiplies<>{}, [](int n) { return 2 * n; }),
            3'840);
  EXPECT_EQ(reduce(numbers.end(), numbers.end(), 100, std::plus<>{}), 100);
}

TEST_P(reduces, inside_a_reduction) {
  auto const row = [](int r) {
    return rubato::reduce(std::views::iota(0, 100), 0, std::plus<>{}, [r](int c) { return r * c; });
  };
  EXPECT_EQ(reduce(std::views::iota(0, 100), 0, std::plus<>{}, row), 4'950 * 4'950);
}

TEST_P(reduces, passing_on_what_map_or_operator_throw) {
  leak_check const leaks;
  std::vector<int> numbers(3'000);
  std::iota(numbers.begin(), numbers.end(), 0);
  auto const value_of = [](int n) { return counted(n); };
  auto const first = [](counted a, counted const&) { return a; };
  for (int round = 0; round != 20; ++round) {
    int const bad = round * 157 % 3'000;
    auto const of_map = thrown_by([&] {
      return reduce(numbers, counted(-1), first, [&](int n) {
        if (n == bad) throw counted_error(n);
        return counted(n);
      });
    });
    EXPECT_EQ(of_map, bad);
    std::atomic<int> calls{0};
    auto const of_operator = thrown_by([&] {
      return reduce(
          numbers, counted(-1),
          [&](counted a, counted const&) {
            if (++calls == 100) throw counted_error(4);
            return a;
          },
          value_of);
    });
    EXPECT_EQ(of_operator, 4);
  }
}

class reduces_on : public on_workers {};
RUBATO_TEST_WITH_WORKERS(reduces_on, all_counts);

TEST_P(reduces_on, ranges_without_random_access) {
  std::list<int> linked(2'000);
  std::iota(linked.begin(), linked.end(), 0);
  auto const text = [](int n) { return std::to_string(n); };
  std::string expected;
  std::stringstream stream;
  for (int const n : linked) {
    expected += text(n);
    stream << n << ' ';
  }
  pool.run([&] {
    EXPECT_EQ(rubato::reduce(linked, std::string(), std::plus<>{}, text), expected);
    EXPECT_EQ(rubato::reduce(std::views::istream<int>(stream), std::string(), std::plus<>{}, text), expected);
    auto even = linked | std::views::filter([](int n) { return n % 2 == 0; });
    EXPECT_EQ(rubato::reduce(even, 0, std::plus<>{}), 999'000);
    EXPECT_EQ(rubato::reduce(std::list<int>{}, 5, std::plus<>{}), 5);
  });
}

TEST_P(reduces_on, a_named_pool) {
  std::vector<int> const ones(1'000, 1);
  auto const here = [&](int n) { return rubato::current_pool() == &pool ? n : 0; };
  EXPECT_EQ(rubato::reduce(pool, ones, 0, std::plus<>{}, here), 1'000);
  EXPECT_EQ(rubato::reduce(pool, rubato::deterministic, ones, 0, std::plus<>{}, here), 1'000);
}

TEST(reduce_from_outside, uses_the_global_pool) {
  hang_guard const guard;
  std::vector<int> const ones(1'000, 1);
  auto const here = [](int n) { return rubato::current_pool() == &rubato::pool::global() ? n : 0; };
  EXPECT_EQ(rubato::reduce(ones, 0, std::plus<>{}, here), 1'000);
}

} // namespace
