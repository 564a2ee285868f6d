// What join gives back, and what it takes.
#include <gtest/gtest.h>

#include "support/callables.hpp"
#include "support/pools.hpp"
#include "support/values.hpp"

#include <rubato/join.hpp>
#include <rubato/thread_pool.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

using namespace rubato_test;

namespace {

class join_results : public on_workers {};
RUBATO_TEST_WITH_WORKERS(join_results, all_counts);

int forty() { return 40; }
int two() noexcept { return 2; }

TEST_P(join_results, come_as_a_pair_in_the_order_of_the_callables) {
  auto const result =
      pool.run([] { return rubato::join([] { return 1; }, [] { return std::string("two"); }); });
  static_assert(std::is_same_v<decltype(result), std::pair<int, std::string> const>);
  EXPECT_EQ(result.first, 1);
  EXPECT_EQ(result.second, "two");
}

TEST_P(join_results, of_void_are_monostate) {
  bool f_ran = false;
  bool g_ran = false;
  auto both = pool.run([&] { return rubato::join([&] { f_ran = true; }, [&] { g_ran = true; }); });
  static_assert(std::is_same_v<decltype(both), std::pair<std::monostate, std::monostate>>);
  EXPECT_TRUE(f_ran);
  EXPECT_TRUE(g_ran);

  auto second = pool.run([&] { return rubato::join([&] { f_ran = false; }, [] { return 7; }); });
  static_assert(std::is_same_v<decltype(second), std::pair<std::monostate, int>>);
  EXPECT_EQ(second.second, 7);
  EXPECT_FALSE(f_ran);
}

TEST_P(join_results, may_be_references_to_the_very_objects) {
  int a = 1;
  int const b = 2;
  pool.run([&] {
    auto&& [x, y] = rubato::join([&]() -> int& { return a; }, [&]() -> int const& { return b; });
    static_assert(std::is_same_v<decltype(x), int&>);
    static_assert(std::is_same_v<decltype(y), int const&>);
    EXPECT_EQ(&x, &a);
    EXPECT_EQ(&y, &b);
    x = 5;
  });
  EXPECT_EQ(a, 5);
}

TEST_P(join_results, may_mix_references_and_values) {
  std::string text = "there";
  pool.run([&] {
    auto&& [x, y] = rubato::join([] { return 3; }, [&]() -> std::string& { return text; });
    static_assert(std::is_same_v<decltype(y), std::string&>);
    EXPECT_EQ(x, 3);
    EXPECT_EQ(&y, &text);
  });
}

TEST_P(join_results, may_be_only_movable) {
  auto [a, b] = pool.run(
      [] { return rubato::join([] { return std::make_unique<int>(1); }, [] { return move_only(2); }); });
  EXPECT_EQ(*a, 1);
  EXPECT_EQ(b.value, 2);
}

TEST_P(join_results, need_no_default_constructor_or_assignment) {
  auto [a, b] = pool.run([] {
    return rubato::join([] { return only_constructible(1); }, [] { return only_constructible(2); });
  });
  EXPECT_EQ(a.value, 1);
  EXPECT_EQ(b.value, 2);
}

TEST_P(join_results, of_over_aligned_types_stand_where_they_must) {
  auto check = [] {
    auto result = rubato::join(
        [] {
          over_aligned made{1};
          EXPECT_TRUE(is_aligned(made));
          return made;
        },
        [] { return over_aligned{2}; });
    EXPECT_TRUE(is_aligned(result.first));
    EXPECT_TRUE(is_aligned(result.second));
    return result.first.value + 10 * result.second.value;
  };
  EXPECT_EQ(pool.run(check), 21);
}

TEST_P(join_results, of_over_aligned_captures_are_right_as_well) {
  over_aligned const block{5};
  auto read = [block] { return is_aligned(block) ? block.value : -1; };
  auto [a, b] = pool.run([&] { return rubato::join(read, read); });
  EXPECT_EQ(a, 5);
  EXPECT_EQ(b, 5);
}

TEST_P(join_results, are_destroyed_as_often_as_they_are_made) {
  leak_check const leaks;
  for (int i = 0; i != 100; ++i) {
    auto [a, b] =
        pool.run([i] { return rubato::join([i] { return counted(i); }, [i] { return counted(-i); }); });
    EXPECT_EQ(a.value, i);
    EXPECT_EQ(b.value, -i);
  }
}

TEST_P(join_results, of_big_types_arrive_whole) {
  auto numbers = [](int from) {
    std::array<int, 1000> made{};
    for (std::size_t i = 0; i != made.size(); ++i) made[i] = from + static_cast<int>(i);
    return made;
  };
  auto [a, b] =
      pool.run([&] { return rubato::join([&] { return numbers(0); }, [&] { return numbers(5000); }); });
  EXPECT_EQ(a, numbers(0));
  EXPECT_EQ(b, numbers(5000));
}

TEST_P(join_results, come_from_functions_and_function_pointers_too) {
  auto [a, b] = pool.run([] { return rubato::join(forty, &two); });
  EXPECT_EQ(a + b, 42);
}

TEST_P(join_results, come_from_callables_that_only_move) {
  auto [a, b] = pool.run([] {
    return rubato::join(move_only_call(std::make_unique<int>(4)),
                        [p = std::make_unique<int>(5)] { return *p; });
  });
  EXPECT_EQ(*a, 4);
  EXPECT_EQ(b, 5);
}

TEST_P(join_results, come_from_callables_that_change_themselves) {
  auto [a, b] = pool.run(
      [] { return rubato::join([n = 1]() mutable { return ++n; }, [n = 10]() mutable { return ++n; }); });
  EXPECT_EQ(a, 2);
  EXPECT_EQ(b, 11);
}

TEST_P(join_results, come_from_the_callables_and_not_from_copies) {
  pinned_call f;
  pinned_call g;
  for (int round = 1; round <= 10; ++round) {
    auto [a, b] = pool.run([&] { return rubato::join(f, g); });
    EXPECT_EQ(a, round);
    EXPECT_EQ(b, round);
  }
  EXPECT_EQ(f.calls, 10);
  EXPECT_EQ(g.calls, 10);
}

TEST_P(join_results, do_not_cost_the_callables_their_captures) {
  // A join borrows: what a named callable owns is still there afterwards.
  auto text = [s = std::string(100, 'x')] { return s.size(); };
  auto const use = [&] { return rubato::join(text, text); };
  EXPECT_EQ(pool.run(use), (std::pair<std::size_t, std::size_t>(100, 100)));
  EXPECT_EQ(pool.run(use), (std::pair<std::size_t, std::size_t>(100, 100)));
}

TEST_P(join_results, see_earlier_writes_and_show_their_own) {
  for (int i = 0; i != 200; ++i) {
    std::vector<int> before{i};
    std::vector<int> left;
    std::vector<int> right;
    pool.run([&] {
      before.push_back(i + 1);
      rubato::join([&] { left = before; }, [&] { right = before; });
      EXPECT_EQ(left, (std::vector<int>{i, i + 1}));
      EXPECT_EQ(right, (std::vector<int>{i, i + 1}));
    });
  }
}

TEST_P(join_results, of_a_join_on_a_named_pool_come_from_that_pool) {
  auto const here = [] { return rubato::current_pool(); };
  auto [a, b] = rubato::join(pool, here, here);
  EXPECT_EQ(a, &pool);
  EXPECT_EQ(b, &pool);
  EXPECT_EQ(rubato::current_pool(), nullptr);
}

TEST_P(join_results, of_callables_that_can_be_called_only_as_rvalues) {
  auto const once = [](int n) { return rvalue_call([n] { return n; }); };
  auto const [a, b] = pool.run([&] { return rubato::join(once(1), once(2)); });
  EXPECT_EQ(a + b, 3);
  auto named = once(3);
  auto const [c, d] = rubato::join(pool, std::move(named), once(4));
  EXPECT_EQ(c + d, 7);
  auto const [e, f, g] = rubato::invoke(pool, once(5), once(6), once(7));
  EXPECT_EQ(e + f + g, 18);
  EXPECT_EQ(std::get<0>(pool.run([&] { return rubato::invoke(once(8)); })), 8);
  struct with_context {
    int operator()(rubato::context& /*c*/) && { return 9; }
  };
  auto const both = [](rubato::context& here) { return rubato::join(here, with_context(), with_context()); };
  auto const [h, i] = rubato::with_context(pool, both);
  EXPECT_EQ(h + i, 18);
  EXPECT_EQ(rubato::with_context(pool, with_context()), 9);
}

TEST(join_results, regression_may_be_const_objects) {
  rubato::pool pool(2);
  auto const text = []() -> std::string const {
    return "a text that no small buffer holds, and so is allocated";
  };
  auto const both = pool.run([&] { return rubato::join(text, text); });
  EXPECT_EQ(both.first, both.second);
}

TEST(join_results, regression_of_small_move_only_callables) {
  struct token {
    int value;
    explicit token(int v)
        : value(v) {}
    token(token&&) = default;
    token& operator=(token&&) = default;
    ~token() = default;
  };
  rubato::pool pool(2);
  auto const [a, b] = pool.run(
      [&] { return rubato::join([t = token(1)] { return t.value; }, [t = token(2)] { return t.value; }); });
  EXPECT_EQ(a + b, 3);
}

TEST(join_results, regression_may_be_rvalue_references) {
  rubato::pool pool(2);
  std::string a = "a", b = "b";
  auto const first = [&]() -> std::string&& { return std::move(a); };
  auto const second = [&]() -> std::string&& { return std::move(b); };
  auto const check = [&] {
    auto&& both = rubato::join(first, second);
    static_assert(std::is_same_v<decltype(both.first), std::string&&>);
    EXPECT_EQ(std::addressof(both.first), std::addressof(a));
    EXPECT_EQ(std::addressof(both.second), std::addressof(b));
  };
  pool.run(check);
  check(); // on the slow path
  static_assert(std::is_same_v<decltype(pool.run(first)), std::string&&>);
  std::string const moved = pool.run(first);
  EXPECT_EQ(moved, "a");
  EXPECT_EQ(a, "");
}

} // namespace
