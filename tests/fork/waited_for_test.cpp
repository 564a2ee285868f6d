// run, join, invoke, broadcast, blocking and block_on wait for what their callables return, if that is a task
// or a future.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <concepts>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "support/pools.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

class waited_for : public on_workers {};
RUBATO_TEST_WITH_WORKERS(waited_for, all_counts);

rubato::task<int> number(int n) {
  co_await rubato::yield();
  co_return n;
}
rubato::task<int&> reference(int& to) { co_return to; }
rubato::task<int> failing(int n) {
  co_await rubato::yield();
  throw counted_error(n);
}

TEST_P(waited_for, by_run) {
  static_assert(std::same_as<decltype(pool.run([] { return number(3); })), int>);
  EXPECT_EQ(pool.run([] { return number(3); }), 3);
  EXPECT_EQ(pool.run([this] { return pool.spawn([] { return 4; }); }), 4);
  int object = 0;
  EXPECT_EQ(&pool.run([&] { return reference(object); }), &object);
  EXPECT_EQ(pool.run([]() -> rubato::task<move_only> { co_return move_only(5); }).value, 5);
  pool.run([]() -> rubato::task<> { co_return; });
  EXPECT_EQ(thrown_by([this] { return pool.run([] { return failing(6); }); }), 6);
}

TEST_P(waited_for, by_join_and_invoke) {
  auto [a, b] = rubato::join(pool, [] { return number(1); }, [this] { return pool.spawn([] { return 2; }); });
  static_assert(std::same_as<decltype(a), int> && std::same_as<decltype(b), int>);
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, 2);
  int object = 0;
  auto [c, d, e] = rubato::invoke(
      pool, [] { return number(3); }, [&] { return reference(object); },
      []() -> rubato::task<> { co_return; });
  static_assert(std::same_as<decltype(e), std::monostate>);
  EXPECT_EQ(c, 3);
  EXPECT_EQ(&d, &object);
  EXPECT_EQ(
      thrown_by([this] { return rubato::join(pool, [] { return failing(4); }, [] { return number(0); }); }),
      4);
  EXPECT_EQ(thrown_by([this] { return rubato::join(pool, [] { return 0; }, [] { return failing(5); }); }), 5);
}

TEST_P(waited_for, by_a_join_with_a_context) {
  int const sum = pool.run([] {
    return rubato::with_context([](rubato::context& context) {
      auto [a, b] = rubato::join(
          context, [](rubato::context&) { return number(20); }, [](rubato::context&) { return number(1); });
      return a + b;
    });
  });
  EXPECT_EQ(sum, 21);
}

TEST_P(waited_for, by_broadcast) {
  std::vector<int> const all = pool.broadcast([] { return number(7); });
  EXPECT_EQ(all, std::vector<int>(pool.size(), 7));
}

TEST_P(waited_for, by_blocking) {
  EXPECT_EQ(rubato::blocking([] { return number(8); }), 8);
  pool.run([] { EXPECT_EQ(rubato::blocking([] { return number(9); }), 9); });
  EXPECT_EQ(pool.spawn([] { return rubato::blocking([] { return number(10); }); }).get(), 10);
}

TEST_P(waited_for, by_block_on) {
  int object = 0;
  EXPECT_EQ(&pool.block_on(reference(object)), &object);
  EXPECT_EQ(pool.block_on(pool.spawn([] { return move_only(1); })).value, 1);
  EXPECT_EQ(pool.block_on(pool.spawn([] { return 2; }).share()), 2);
  EXPECT_EQ(thrown_by([this] { return pool.block_on(failing(3)); }), 3);
}

TEST_P(waited_for, while_the_callable_and_what_it_has_captured_live) {
  auto const captured = std::make_shared<int>(6);
  EXPECT_EQ(pool.run([captured]() -> rubato::task<int> {
    co_await rubato::yield();
    co_return *captured;
  }),
            6);
  EXPECT_EQ(captured.use_count(), 1);
}

TEST_P(waited_for, and_told_of_a_stop) {
  if (pool.size() == 0) return; // no thread would run it meanwhile
  for (bool const by_block_on : {true, false}) {
    std::atomic<bool> begun{false};
    auto sleeps = [&]() -> rubato::task<> {
      begun = true;
      co_await rubato::sleep_until(rubato::never);
    };
    auto f = pool.spawn([&] {
      try {
        if (by_block_on)
          rubato::block_on(sleeps());
        else
          rubato::join(sleeps, [] {});
      } catch (rubato::cancelled const&) {
        return true;
      }
      return false;
    });
    ASSERT_TRUE(rubato_test::eventually([&] { return begun.load(); }));
    f.cancel();
    EXPECT_TRUE(f.get());
  }
}

} // namespace
