// Work whose own entry is in the wrong queue, because it was claimed and moved, or raised, has a second one.
#include <rubato/algorithm.hpp>
#include <rubato/future.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>
#include <rubato/spawn.hpp>
#include <rubato/task.hpp>
#include <rubato/this_task.hpp>
#include <rubato/time.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>

#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

/// One worker, and no other thread for its seat while it waits.
rubato::pool_options alone() { return rubato::pool_options().workers(1).spares(0); }

/// A task of the first pool has claimed the coroutine, which has moved to another one that discards. No
/// thread of the first pool is left to pop its old entry.
TEST(second_entry, regression_a_discard_runs_what_has_moved) {
  rubato::pool first(alone());
  rubato::pool second(alone());
  std::atomic<bool> held{false}, free{false}, moves{false}, ended{false};
  second.enqueue([&] {
    held = true;
    static_cast<void>(eventually([&] { return free.load(); }));
  });
  ASSERT_TRUE(eventually([&] { return held.load(); }));
  auto const body = [](rubato::pool& to, std::atomic<bool>& sets) -> rubato::task<int> {
    sets = true;
    co_await rubato::resume_on(to);
    co_return 1;
  };
  first.enqueue([&] {
    try {
      static_cast<void>(first.spawn([&] { return body(second, moves); }).get());
    } catch (std::exception const&) { // NOLINT(bugprone-empty-catch): the discard may end it
    }
    ended = true;
  });
  ASSERT_TRUE(eventually([&] { return moves.load(); }));
  std::this_thread::sleep_for(until_others_sleep);
  second.request_shutdown(rubato::discard);
  free = true;
  second.shutdown(rubato::discard);
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
}

/// A yield goes behind what is queued, although an old entry of the coroutine is elsewhere.
TEST(second_entry, regression_a_yield_lets_queued_tasks_run) {
  rubato::pool first(alone());
  rubato::pool second(alone());
  auto const body = [](rubato::pool& to) -> rubato::task<int> {
    co_await rubato::resume_on(to);
    std::atomic<bool> ran{false};
    to.enqueue([&ran] { ran = true; });
    int yields = 0;
    for (; !ran; ++yields) co_await rubato::yield();
    co_return yields;
  };
  int const yields = first.spawn([&] { return first.spawn([&] { return body(second); }).get(); }).get();
  EXPECT_LE(yields, 3); // one, but for a turn of guarantee F; it was four
}

/// A scope's waiter claims a coroutine again and again whose old entry counts as left behind.
TEST(second_entry, regression_is_one_however_often_work_is_claimed) {
  rubato::pool first(alone().search_time(1s));
  rubato::pool second(alone().search_time(1s));
  std::size_t most = 0;
  auto const body = [](rubato::pool& home, rubato::pool& other, std::size_t& pending) -> rubato::task<int> {
    co_await rubato::resume_on(other);
    co_await rubato::resume_on(home);
    for (int i = 0; i != 20'000; ++i) {
      pending = std::max(pending, home.pending());
      co_await rubato::yield();
    }
    co_return 1;
  };
  first
      .spawn([&] {
        rubato::with_scope([&](rubato::scope& s) {
          auto const result = s.async([&] { return body(first, second, most); });
          s.wait();
        });
      })
      .get();
  EXPECT_LE(most, 2'000U);
}

/// The claimed coroutine's timer makes it ready, and no thread is left to run it: a stall, which is reported.
TEST(second_entry, regression_a_stall_of_a_claimed_sleeper_is_told) {
  std::atomic<bool> told{false};
  rubato::pool pool(alone().on_stall([&](rubato::stall_report const&) { told = true; }));
  auto const sleeper = []() -> rubato::task<int> {
    co_await rubato::sleep_for(10ms);
    co_return 3;
  };
  std::atomic<bool> ended{false};
  pool.enqueue([&] {
    try {
      static_cast<void>(pool.spawn(sleeper).get());
    } catch (std::exception const&) { // NOLINT(bugprone-empty-catch): the discard may end it
    }
    ended = true;
  });
  EXPECT_TRUE(eventually([&] { return told.load() || ended.load(); }));
  pool.shutdown(rubato::discard);
  EXPECT_TRUE(ended);
}

} // namespace
