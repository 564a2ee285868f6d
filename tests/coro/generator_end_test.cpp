// Generators that a stop or the end of their pool has cut.
#include <gtest/gtest.h>

#include "support/never_ready.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <utility>

using namespace rubato_test;

namespace {

using generator = rubato::async_generator<int>;

class generators : public on_workers {};
RUBATO_TEST_WITH_WORKERS(generators, all_counts);

/// Throws from its second move on; a moved-from one shows that.
struct throws_when_moved {
  int value = 0, moves = 0;
  explicit throws_when_moved(int v)
      : value(v) {}
  throws_when_moved(throws_when_moved&& other) noexcept(false)
      : value(std::exchange(other.value, -1))
      , moves(other.moves + 1) {
    if (moves == 2) throw std::runtime_error("it cannot be moved");
  }
  throws_when_moved& operator=(throws_when_moved&&) = delete;
  ~throws_when_moved() = default;
};

TEST_P(generators, regression_deliver_no_value_that_was_moved_from) {
  auto const values = []() -> rubato::async_generator<throws_when_moved> {
    co_yield throws_when_moved(1);
    co_yield throws_when_moved(2);
  };
  auto const test = [&]() -> rubato::task<void> {
    auto g = values();
    for (int i = 0; i != 2; ++i) {
      bool failed = false;
      try {
        auto const value = co_await g.next();
        ADD_FAILURE() << "a value was delivered: " << value.has_value();
      } catch (std::runtime_error const&) {
        failed = true;
      }
      EXPECT_TRUE(failed);
    }
    auto const end = co_await g.next();
    EXPECT_FALSE(end.has_value());
  };
  pool.block_on(test());
}

class last_generators : public testing::TestWithParam<unsigned> {
  hang_guard guard_;
};
RUBATO_TEST_WITH_WORKERS(last_generators, all_counts);

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

TEST_P(last_generators, regression_are_destroyed_without_recursion) {
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

TEST_P(last_generators, say_so_to_an_owner_that_outlives_it) {
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

class stopped_generators : public on_workers {};
RUBATO_TEST_WITH_WORKERS(stopped_generators, all_counts);

using namespace std::chrono_literals;

/// Yields 1, and then waits for ever.
generator one_and_no_more(never_ready& w, bool& waits) {
  co_yield 1;
  waits = true;
  co_yield co_await w.future;
}
generator passes_on(never_ready& w, bool& waits) {
  generator inner = one_and_no_more(w, waits);
  for (;;) {
    auto const value = co_await inner.next();
    if (!value) co_return;
    co_yield *value;
  }
}
/// Yields -1 in place of a value that was too late.
generator goes_on(never_ready& w) {
  int value = -1;
  while (value == -1) {
    try {
      value = co_await w.future;
    } catch (rubato::cancelled const&) { // NOLINT(bugprone-empty-catch): that is the value
    }
    co_yield value;
  }
}

/// next() throws cancelled, and does so each time.
rubato::task<void> expect_cut(generator g, bool& waits) {
  auto const first = co_await g.next();
  EXPECT_EQ(first, std::optional<int>(1));
  while (!waits) { // a next() that the deadline keeps from beginning has no effect
    auto const late = co_await rubato::with_deadline(g.next(), 1ms);
    EXPECT_FALSE(late.has_value());
  }
  for (int i = 0; i != 3; ++i) {
    bool cut = false;
    try {
      auto const value = co_await g.next();
      EXPECT_FALSE(value) << "a value after the end";
    } catch (rubato::cancelled const&) {
      cut = true;
    }
    EXPECT_TRUE(cut);
  }
}

TEST_P(stopped_generators, regression_throw_cancelled_from_then_on) {
  never_ready w;
  bool waits = false, inner_waits = false;
  pool.block_on(expect_cut(one_and_no_more(w, waits), waits));
  pool.block_on(expect_cut(passes_on(w, inner_waits), inner_waits));
}

TEST_P(stopped_generators, regression_are_cancelled_after_lost_races) {
  never_ready w;
  auto const test = [&]() -> rubato::task<void> {
    bool waits = false;
    generator g = one_and_no_more(w, waits);
    static_cast<void>(co_await g.next());
    while (!waits) {
      auto const won = co_await rubato::when_any(g.next(), rubato::yield());
      EXPECT_EQ(won.index, 1U);
    }
    bool cut = false;
    try {
      static_cast<void>(co_await g.next());
    } catch (rubato::cancelled const&) {
      cut = true;
    }
    EXPECT_TRUE(cut);
  };
  pool.block_on(test());
}

TEST_P(stopped_generators, go_on_if_they_catch_the_stop) {
  never_ready w;
  auto const test = [&]() -> rubato::task<void> {
    generator g = goes_on(w);
    for (int i = 0; i != 2; ++i) {
      std::optional<std::optional<int>> value;
      while (!value) value = co_await rubato::with_deadline(g.next(), 1ms); // empty: it did not begin
      EXPECT_EQ(value, std::optional(std::optional(-1)));
    }
    w.promise.set_value(7);
    auto const value = co_await g.next();
    EXPECT_EQ(value, std::optional(7));
    auto const end = co_await g.next();
    EXPECT_EQ(end, std::nullopt);
  };
  pool.block_on(test());
}

TEST_P(stopped_generators, go_on_if_the_stop_meets_no_wait) {
  auto const test = []() -> rubato::task<void> {
    auto const three = []() -> generator {
      for (int i = 0; i != 3; ++i) {
        std::stop_token const stop = rubato::this_task_stop_token();
        while (!stop.stop_requested()) co_await rubato::yield(); // no wait that a stop ends
        co_yield i;
      }
    };
    generator g = three();
    for (int i = 0; i != 3; ++i) {
      std::optional<std::optional<int>> value;
      while (!value) value = co_await rubato::with_deadline(g.next(), 1ms); // empty: it did not begin
      EXPECT_EQ(value, std::optional(std::optional(i)));
    }
    auto const end = co_await g.next();
    EXPECT_EQ(end, std::nullopt);
  };
  pool.block_on(test());
}

} // namespace
