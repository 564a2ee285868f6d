// Pipelines whose stages fail, that are stopped, or whose pool ends: every item is destroyed.
#include <gtest/gtest.h>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

using namespace rubato_test;
using rubato::parallel;
using rubato::serial;
using rubato::serial_in_order;
using rubato::stage;

namespace {

using namespace std::chrono_literals;

class pipeline_failures : public on_workers {};
RUBATO_TEST_WITH_WORKERS(pipeline_failures, all_counts);

/// An item that counts itself, and whose move throws if it is told so.
struct item {
  static inline std::atomic<int> alive{0};
  std::size_t number;
  bool throws = false;
  explicit item(std::size_t n)
      : number(n) {
    ++alive;
  }
  item(item&& o)
      : number(o.number) {
    if (o.throws) throw failure(1000);
    ++alive;
  }
  item& operator=(item&&) = delete;
  ~item() { --alive; }
};

constexpr std::size_t items = 60;

/// Throws at one item in one stage; a number of a stage beyond the last: never.
void run(rubato::pool& pool, std::size_t at_stage, std::size_t at_item, bool coroutines) {
  auto const check = [=](std::size_t s, std::size_t i) {
    if (s == at_stage && i == at_item) throw failure(static_cast<int>(s));
  };
  auto source = [=, next = std::size_t{0}]() mutable -> std::optional<item> {
    check(0, next);
    if (next == items) return std::nullopt;
    return std::optional<item>(std::in_place, next++);
  };
  auto const second = [=](item i) {
    check(1, i.number);
    return i;
  };
  auto const third = [=](item i) {
    check(2, i.number);
    return i;
  };
  auto const co_second = [=](item i) -> rubato::task<item> {
    co_await rubato::yield();
    check(1, i.number);
    co_return std::move(i);
  };
  auto const last = [=](item i) { check(3, i.number); };
  if (coroutines)
    rubato::pipeline(pool, 10, stage(serial, source), stage(parallel, co_second),
                     stage(serial_in_order, third), stage(serial, last));
  else
    rubato::pipeline(pool, 10, stage(serial, source), stage(parallel, second), stage(serial_in_order, third),
                     stage(serial, last));
}

TEST_P(pipeline_failures, in_each_stage_at_some_items) {
  for (bool const coroutines : {false, true})
    for (std::size_t s = 0; s != 4; ++s)
      for (std::size_t const i : {std::size_t{0}, items / 2, items - 1}) {
        ASSERT_EQ(failure_of([&] { return run(pool, s, i, coroutines), 0; }), static_cast<int>(s));
        ASSERT_EQ(item::alive, 0);
        run(pool, 9, 0, coroutines); // the next one works
        ASSERT_EQ(item::alive, 0);
      }
}

TEST_P(pipeline_failures, in_a_move) {
  EXPECT_EQ(failure_of([&] {
              rubato::pipeline(pool, 8,
                               stage(serial,
                                     [next = std::size_t{0}]() mutable -> std::optional<item> {
                                       if (next == 100) return std::nullopt;
                                       return std::optional<item>(std::in_place, next++);
                                     }),
                               stage(parallel,
                                     [](item&& i) {
                                       i.throws = i.number == 40;
                                       return std::move(i);
                                     }),
                               stage(serial, [](item) {}));
              return 0;
            }),
            1000);
  EXPECT_EQ(item::alive, 0);
}

TEST_P(pipeline_failures, a_stop_of_the_scope_cancels_it) {
  std::atomic<std::size_t> through{0};
  bool cancelled = false;
  rubato::with_scope(pool, [&](rubato::scope& s) {
    try {
      rubato::pipeline(
          pool, 4,
          stage(serial,
                [next = std::size_t{0}]() mutable { return std::optional<item>(std::in_place, next++); }),
          stage(parallel,
                [&](item i) {
                  if (i.number == 100) s.request_stop();
                  return i;
                }),
          stage(serial, [&](item) { ++through; }));
    } catch (rubato::cancelled const&) {
      cancelled = true;
    }
  });
  EXPECT_TRUE(cancelled);
  EXPECT_EQ(item::alive, 0);
}

TEST_P(pipeline_failures, a_coroutine_source_is_stopped_by_a_failure) {
  EXPECT_EQ(failure_of([&] {
              rubato::pipeline(pool, 4,
                               stage(serial,
                                     [next = 0]() mutable -> rubato::task<std::optional<int>> {
                                       if (next == 3) co_await rubato::sleep_for(1h);
                                       co_return next++;
                                     }),
                               stage(parallel,
                                     [](int n) -> rubato::task<int> {
                                       co_await rubato::yield();
                                       if (n == 2) throw failure(5);
                                       co_return n;
                                     }),
                               stage(serial, [](int) {}));
              return 0;
            }),
            5);
}

TEST_P(pipeline_failures, a_deadline_ends_an_async_one) {
  auto const job = []() -> rubato::task<bool> {
    auto work = rubato::async_pipeline(
        4,
        stage(serial,
              [next = std::size_t{0}]() mutable { return std::optional<item>(std::in_place, next++); }),
        stage(parallel,
              [](item i) -> rubato::task<item> {
                co_await rubato::sleep_for(1h);
                co_return std::move(i);
              }),
        stage(serial, [](item) {}));
    bool const ended =
        co_await rubato::with_deadline(std::move(work), std::chrono::steady_clock::now() + 2ms);
    co_return ended;
  };
  EXPECT_FALSE(rubato::spawn(pool, job()).get());
  EXPECT_EQ(item::alive, 0);
}

TEST(pipeline_shutdown, discard_while_pipelines_run) {
  for (unsigned round = 0; round != scaled(30); ++round) {
    rubato::pool pool(2);
    std::atomic<bool> goes{false}, over{false};
    std::thread runner([&] {
      try {
        while (!over) { // a closed pool runs it in the caller alone
          run(pool, 9, 0, round % 2 == 0);
          goes = true;
        }
      } catch (std::exception const&) {
      }
    });
    EXPECT_TRUE(eventually([&] { return goes.load(); }));
    pool.request_shutdown(rubato::discard);
    over = true;
    runner.join();
    pool.shutdown(rubato::discard);
    ASSERT_EQ(item::alive, 0);
  }
}

} // namespace
