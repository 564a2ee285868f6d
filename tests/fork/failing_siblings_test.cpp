// A failure, and what runs beside it: the stolen half of a join is awaited, the chunks of a loop are asked to
// stop.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/cancelled.hpp>
#include <rubato/future.hpp>
#include <rubato/join.hpp>
#include <rubato/scope.hpp>
#include <rubato/this_task.hpp>
#include <rubato/thread_pool.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

using namespace rubato_test;

namespace {

class failing_siblings : public on_workers {};
RUBATO_TEST_WITH_WORKERS(failing_siblings, all_counts);

/// Where g is begun by another thread while f runs.
class parallel_failures : public on_workers {};
RUBATO_TEST_WITH_WORKERS(parallel_failures, counts_in_parallel);

/// Runs it; true: it threw a counted_error of that value.
template<class F>
bool throws(rubato::pool& pool, int value, F f) {
  return thrown_by(pool, f) == value;
}

/// Until the token is stopped. False: it never was.
bool stopped_in_time(std::stop_token const& token) {
  auto const end = std::chrono::steady_clock::now() + patience;
  while (!token.stop_requested())
    if (std::chrono::steady_clock::now() > end)
      return false;
    else
      std::this_thread::yield();
  return true;
}

TEST_P(parallel_failures, wait_for_the_stolen_half) {
  leak_check const leaks;
  milestone begun, failing;
  bool stopped = true, ended = false;
  EXPECT_TRUE(throws(pool, 1, [&] {
    rubato::join(
        [&] {
          EXPECT_TRUE(begun.wait());
          failing.reach();
          throw counted_error(1);
        },
        [&] {
          begun.reach();
          EXPECT_TRUE(failing.wait());
          std::this_thread::yield();
          stopped = rubato::this_task_stop_token().stop_requested();
          ended = true;
          return counted(1);
        });
  }));
  EXPECT_TRUE(ended);
  EXPECT_FALSE(stopped); // a loop's chunks are asked to stop, halves are not
}

TEST_P(parallel_failures, a_stop_around_reaches_the_stolen_half) {
  milestone begun, ended;
  bool in_time = false;
  auto task = pool.spawn([&] {
    rubato::join([&] { EXPECT_TRUE(ended.wait()); },
                 [&] {
                   begun.reach();
                   in_time = stopped_in_time(rubato::this_task_stop_token());
                   ended.reach();
                 });
  });
  EXPECT_TRUE(begun.wait());
  task.cancel();
  task.wait();
  EXPECT_TRUE(in_time);
}

/// The half may not have begun, may run, may be about to end: it is skipped or awaited, and touches nothing
/// afterwards.
TEST_P(failing_siblings, meet_the_other_half_at_any_moment) {
  leak_check const leaks;
  std::size_t const rounds = scaled(10'000);
  for (std::size_t round = 0; round != rounds && !HasFailure(); ++round) {
    std::atomic<int> begun{0}, ended{0};
    ASSERT_TRUE(throws(pool, 1, [&] {
      rubato::join(
          [&] {
            for (std::size_t i = round % 64 * 4; i != 0; --i)
              std::atomic_signal_fence(std::memory_order_seq_cst);
            if (round % 3 == 0) std::this_thread::yield();
            throw counted_error(1);
          },
          [&] {
            ++begun;
            // With a token of its own, without one, and with something that listens.
            if (round % 4 == 1)
              static_cast<void>(rubato::this_task_stop_token());
            else if (round % 4 == 2)
              std::stop_callback const none(rubato::this_task_stop_token(), [] {});
            ++ended;
            return counted(1);
          });
    }));
    ASSERT_EQ(begun.load(), ended.load());
    ASSERT_LE(begun.load(), 1);
  }
}

/// A loop of a closure that is no task's is not cut short by a discard, whatever thread runs it.
TEST_P(parallel_failures, leave_an_enqueued_loop_whole_in_a_discard) {
  milestone begun, discarding, ended;
  std::atomic<int> items{0};
  pool.enqueue([&] {
    rubato::join([&] { EXPECT_TRUE(ended.wait()); },
                 [&] {
                   begun.reach();
                   EXPECT_TRUE(discarding.wait());
                   EXPECT_NO_THROW(rubato::for_index(0, 100, [&](int) { ++items; }));
                   ended.reach();
                 });
  });
  EXPECT_TRUE(begun.wait());
  pool.request_shutdown(rubato::discard);
  discarding.reach();
  pool.shutdown();
  EXPECT_EQ(items.load(), 100);
}

TEST_P(parallel_failures, stop_the_other_chunks_of_a_loop) {
  leak_check const leaks;
  for (int round = 0; round != 20 && !HasFailure(); ++round) {
    milestone begun;
    bool in_time = false;
    EXPECT_TRUE(throws(pool, 1, [&] {
      rubato::for_index(0, 2, [&](int i) {
        if (i == round % 2) {
          EXPECT_TRUE(begun.wait());
          throw counted_error(1);
        }
        begun.reach();
        in_time = stopped_in_time(rubato::this_task_stop_token());
      });
    }));
    ASSERT_TRUE(in_time);
  }
}

TEST_P(parallel_failures, end_a_wait_of_the_thread_in_the_loop) {
  rubato::promise<int> never;
  auto result = never.get_future().share();
  milestone begun;
  std::atomic<int> cancelled{0};
  EXPECT_TRUE(throws(pool, 1, [&] {
    auto const caller = std::this_thread::get_id();
    rubato::for_index(std::int64_t{0}, std::int64_t{1'000'000'000'000}, [&](std::int64_t) {
      if (std::this_thread::get_id() != caller) {
        if (begun.reached()) throw counted_error(1);
        return;
      }
      begun.reach();
      try {
        static_cast<void>(result.get());
      } catch (rubato::cancelled const&) {
        ++cancelled;
      }
    });
  }));
  EXPECT_EQ(cancelled.load(), 1);
  never.set_value(1);
}

TEST_P(parallel_failures, stop_the_other_parts_of_a_reduction) {
  for (bool const as_a_tree : {false, true}) {
    milestone begun;
    std::atomic<bool> in_time{false};
    std::array<int, 2> const numbers{0, 1};
    auto const map = [&](int i) {
      if (i == 0) {
        EXPECT_TRUE(begun.wait());
        throw counted_error(1);
      }
      begun.reach();
      in_time = stopped_in_time(rubato::this_task_stop_token());
      return i;
    };
    EXPECT_TRUE(throws(pool, 1, [&] {
      if (as_a_tree)
        rubato::reduce(rubato::deterministic, numbers, 0, std::plus<>{}, map);
      else
        rubato::reduce(numbers, 0, std::plus<>{}, map);
    }));
    EXPECT_TRUE(in_time);
  }
}

/// Which item fails, and on which thread, is left to chance.
TEST_P(failing_siblings, fail_a_loop_at_any_moment) {
  leak_check const leaks;
  for (std::size_t round = 0; round != scaled(2'000) && !HasFailure(); ++round) {
    std::atomic<int> begun{0}, ended{0};
    ASSERT_TRUE(throws(pool, 1, [&] {
      rubato::for_index(0, 20, [&](int i) {
        ++begun;
        if (round % 2 == 0) std::stop_callback const none(rubato::this_task_stop_token(), [] {});
        ++ended;
        if (i % 7 == 6) throw counted_error(1);
      });
    }));
    ASSERT_EQ(begun.load(), ended.load());
  }
}

TEST_P(failing_siblings, leave_the_task_around_a_loop_alone) {
  bool around = true;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      try {
        rubato::for_index(0, 10, [](int) { throw counted_error(1); });
      } catch (counted_error const&) {
        around = s.token().stop_requested() || rubato::this_task_stop_token().stop_requested();
      }
    });
  });
  EXPECT_FALSE(around);
}

/// Halves within halves, each of which fails while what it has forked may be stolen.
TEST_P(failing_siblings, unwind_a_tree) {
  leak_check const leaks;
  struct tree {
    static int grow(int depth, std::atomic<int>& inside) {
      if (depth == 0) throw counted_error(1);
      auto [a, b] = rubato::join([&] { return grow(depth - 1, inside); },
                                 [&] {
                                   ++inside;
                                   struct out {
                                     std::atomic<int>& n;
                                     ~out() { --n; }
                                   } const guard{inside};
                                   return grow(depth - 1, inside);
                                 });
      return a + b;
    }
  };
  for (std::size_t round = 0; round != scaled(300) && !HasFailure(); ++round) {
    std::atomic<int> inside{0};
    ASSERT_TRUE(throws(pool, 1, [&] { tree::grow(10, inside); }));
    ASSERT_EQ(inside.load(), 0);
  }
}

} // namespace
