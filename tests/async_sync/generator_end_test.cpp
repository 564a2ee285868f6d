// Generators whose pool ends while a coroutine awaits them.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <future>

using namespace rubato_test;

namespace {

using generator = rubato::async_generator<int>;

class generators_at_the_end : public testing::TestWithParam<unsigned> {
  hang_guard guard_;
};
RUBATO_TEST_WITH_WORKERS(generators_at_the_end, all_counts);

generator nested(rubato::shared_future<void> never, std::atomic<int>& alive, int depth) {
  in_frame const here(alive);
  if (depth == 0) {
    co_await never;
    co_yield 1;
    co_return;
  }
  generator inner = nested(never, alive, depth - 1);
  for (;;) {
    auto const value = co_await inner.next();
    if (!value) co_return;
    co_yield *value;
  }
}

TEST_P(generators_at_the_end, regression_are_destroyed_without_recursion) {
  rubato::promise<void> never;
  rubato::shared_future<void> const result = never.get_future().share();
  std::atomic<int> alive{0};
  auto const depth = static_cast<int>(sized(200'000));
  {
    rubato::pool pool(rubato_test::with_workers(GetParam()));
    pool.enqueue([&]() -> rubato::task<> {
      generator outermost = nested(result, alive, depth);
      static_cast<void>(co_await outermost.next());
    });
    static_cast<void>(pool.wait_idle());
    EXPECT_EQ(alive, depth + 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST_P(generators_at_the_end, say_so_to_an_owner_that_outlives_it) {
  rubato::promise<void> never;
  rubato::shared_future<void> const result = never.get_future().share();
  std::atomic<int> alive{0};
  generator kept;
  {
    rubato::pool pool(rubato_test::with_workers(GetParam()));
    kept = nested(result, alive, 3);
    pool.enqueue([&]() -> rubato::task<> { static_cast<void>(co_await kept.next()); });
    static_cast<void>(pool.wait_idle());
    EXPECT_TRUE(kept.valid());
    pool.shutdown(); // a drain: the destructor of a pool without workers discards
  }
  EXPECT_EQ(alive, 0);
  EXPECT_FALSE(kept.valid());
  EXPECT_THROW(static_cast<void>(kept.next()), std::future_error);
}

} // namespace
