// Callables that return tasks and futures, where no caller waits for the result: enqueue and its kin, and
// loops.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

class detached : public on_workers {};
RUBATO_TEST_WITH_WORKERS(detached, all_counts);

rubato::task<void> adds(std::atomic<int>& sum, rubato::shared_future<void> gate, int n) {
  co_await gate;
  sum += n;
}

TEST_P(detached, tasks_run_to_their_end) {
  leak_check const none_left;
  rubato::promise<void> later;
  rubato::shared_future<void> const gate = later.get_future();
  std::atomic<int> sum{0};
  auto const add = [&sum, gate](int n) {
    return [&sum, gate, captured = counted(n)]() -> rubato::task<void> {
      co_await gate;
      sum += captured.value;
    };
  };
  pool.enqueue(add(1));
  EXPECT_TRUE(pool.try_enqueue(add(20)));
  pool.enqueue(adds(sum, gate, 300));
  pool.enqueue_after(0s, add(4'000));
  pool.wait_idle();
  EXPECT_EQ(sum, 0);
  later.set_value();
  pool.wait_idle();
  EXPECT_EQ(sum, 4'321);
}

TEST_P(detached, futures_are_not_cancelled) {
  std::atomic<int> ends{0};
  auto const inner = [&] {
    return pool.spawn([&ends](std::stop_token stop) {
      if (!stop.stop_requested()) ++ends;
    });
  };
  pool.enqueue(inner);
  EXPECT_TRUE(pool.try_enqueue(inner));
  pool.enqueue_after(0s, inner);
  pool.enqueue_bulk(10, [&](std::size_t) { return inner(); });
  pool.wait_idle();
  EXPECT_EQ(ends, 13);
}

TEST_P(detached, calls_of_a_bulk_wait_at_the_same_time) {
  leak_check const none_left;
  constexpr std::size_t n = 100;
  rubato::async_latch all(n);
  std::array<std::atomic<int>, n> ends{};
  pool.enqueue_bulk(n, [&, captured = counted(1)](std::stop_token, std::size_t i) -> rubato::task<void> {
    all.count_down();
    co_await all.wait(); // the last one lets all of them go
    ends[i] += captured.value;
  });
  pool.wait_idle();
  for (auto const& e : ends) EXPECT_EQ(e, 1);
}

TEST_P(detached, calls_in_a_loop_are_waited_for) {
  std::vector<int> v(100, 1);
  std::list<int> l(100, 1);
  auto const twice = [](int& i) -> rubato::task<void> {
    co_await rubato::yield();
    i *= 2;
  };
  rubato::for_each(pool, v, twice);
  rubato::for_each(pool, l, twice);
  rubato::for_index(pool, 0, 100, [&](int i) -> rubato::task<void> {
    co_await rubato::yield();
    ++v[static_cast<std::size_t>(i)];
  });
  rubato::for_range(pool, 0U, 100U, [&](unsigned lo, unsigned hi) {
    return pool.spawn([&v, lo, hi] {
      for (unsigned i = lo; i != hi; ++i) v[i] *= 10;
    });
  });
  EXPECT_EQ(v, std::vector<int>(100, 30));
  EXPECT_EQ(l, std::list<int>(100, 2));
  EXPECT_EQ(failure_of([&] {
              rubato::for_index(pool, 0, 100, [](int i) -> rubato::task<void> {
                if (i == 50) throw failure(i);
                co_return;
              });
            }),
            50);
}

/// A pool that counts the exceptions passed to on_unhandled.
class reporting : public testing::TestWithParam<unsigned> {
protected:
  hang_guard guard;
  std::atomic<int> reports{0};
  rubato::pool pool{rubato_test::with_workers(GetParam())

                        .max_queued(1'000)
                        .on_unhandled([this](std::exception_ptr const& e) {
                          reports += failure_of([&e] { std::rethrow_exception(e); });
                        })};
};
RUBATO_TEST_WITH_WORKERS(reporting, all_counts);

rubato::task<void> fails(int n) {
  co_await rubato::yield();
  throw failure(n);
}

TEST_P(reporting, failures_are_told_once) {
  pool.enqueue([] { return fails(1); });
  pool.enqueue(fails(20));
  EXPECT_TRUE(pool.try_enqueue([] { return rubato::make_exceptional_future<int>(failure(300)); }));
  pool.enqueue_after(0s, [] { return fails(4'000); });
  pool.enqueue_bulk(3, [](std::size_t) { return fails(10'000); });
  pool.enqueue([]() -> rubato::task<int> { throw failure(100'000); }); // no coroutine
  pool.wait_idle();
  EXPECT_EQ(reports, 134'321);
}

TEST_P(reporting, not_where_the_result_is_brought) {
  rubato::promise<int> later;
  pool.enqueue([inner = later.get_future()]() mutable { return std::move(inner); });
  pool.wait_idle();
  std::atomic<bool> in_place{false};
  {
    std::thread::id const me = std::this_thread::get_id();
    rubato::pool other(rubato::pool_options().workers(1).on_unhandled(
        [&](std::exception_ptr const&) { in_place = std::this_thread::get_id() == me; }));
    rubato::promise<int> second;
    other.enqueue([inner = second.get_future()]() mutable { return std::move(inner); });
    other.wait_idle();
    second.set_exception(failure(1));
    other.wait_idle();
  }
  EXPECT_FALSE(in_place);
  later.set_exception(failure(5));
  pool.wait_idle();
  EXPECT_EQ(reports, 5);
}

TEST_P(reporting, what_the_end_of_the_pool_drops_has_not_failed) {
  leak_check const none_left;
  rubato::promise<void> never;
  rubato::shared_future<void> const gate = never.get_future();
  pool.enqueue([gate, captured = counted(1)]() -> rubato::task<void> { co_await gate; });
  pool.enqueue([captured = counted(1)]() -> rubato::task<void> { co_await rubato::sleep_for(1h); });
  pool.wait_idle(std::chrono::milliseconds(1));
  pool.shutdown();
  EXPECT_EQ(reports, 0);
  pool.resize(GetParam());
  pool.enqueue([gate, captured = counted(1)]() -> rubato::task<void> { co_await gate; });
  pool.shutdown(rubato::discard);
  EXPECT_EQ(reports, 0);
}

TEST_P(reporting, room_is_given_back) {
  std::atomic<int> ends{0};
  for (int round = 0; round != 3; ++round) {
    for (int i = 0; i != 1'000; ++i)
      pool.enqueue([&ends]() -> rubato::task<void> {
        co_await rubato::yield();
        ++ends;
      });
    pool.wait_idle();
  }
  EXPECT_EQ(ends, 3'000);
}

TEST(unattended_rounds, a_failure_races_with_the_end_of_the_pool) {
  hang_guard const guard;
  for (int round = 0; round != 300; ++round) {
    std::atomic<int> reports{0};
    rubato::promise<int> later;
    {
      rubato::pool pool(rubato::pool_options().workers(2).on_unhandled(
          [&reports](std::exception_ptr const&) { ++reports; }));
      pool.enqueue([inner = later.get_future()]() mutable { return std::move(inner); });
      pool.enqueue([] { return fails(1); });
      if (round % 3 == 0) pool.wait_idle();
      later.set_exception(failure(2));
    }
    EXPECT_EQ(reports, 2); // both are ready before the end, which drains them
  }
}

/// A pool may get the address of one that is gone.
TEST(detached_work, regression_a_failure_is_not_told_to_a_new_pool) {
  hang_guard const guard;
  for (int round = 0; round != 50; ++round) {
    std::atomic<int> reports{0};
    auto const options = [&reports] {
      return rubato::pool_options().workers(1).on_unhandled(
          [&reports](std::exception_ptr const&) { ++reports; });
    };
    rubato::promise<void> later;
    std::optional<rubato::pool> pool(options());
    rubato::promise<void> begun;
    auto has_begun = begun.get_future();
    pool->enqueue([inner = later.get_future(), begun = std::move(begun)]() mutable {
      begun.set_value();
      return std::move(inner);
    });
    has_begun.get();
    pool.reset();
    pool.emplace(options());
    pool->spawn([] {}).get();
    later.set_exception(failure(1));
    pool->wait_idle();
    EXPECT_EQ(reports, 0);
  }
}

TEST(detached_work, regression_a_failure_after_a_move_is_told) {
  hang_guard const guard;
  std::atomic<int> reports{0};
  rubato::pool second(1);
  rubato::pool first(rubato::pool_options().workers(1).on_unhandled([&reports](std::exception_ptr const& e) {
    reports += failure_of([&e] { std::rethrow_exception(e); });
  }));
  first.enqueue([&second]() -> rubato::task<void> {
    co_await rubato::resume_on(second);
    throw failure(3);
  });
  EXPECT_TRUE(rubato_test::eventually([&reports] { return reports == 3; }));
}

} // namespace
