// A failure asks what runs beside it to stop: the stolen half of a join, the chunks of a loop.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"

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
class failing_siblings_in_parallel : public on_workers {};
RUBATO_TEST_WITH_WORKERS(failing_siblings_in_parallel, counts_in_parallel);

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

/// Joins g with a half that fails once g has begun. True: the join threw that failure.
template<class G>
bool fails_beside(rubato::pool& pool, milestone& begun, G g) {
  return throws(pool, 1, [&] {
    rubato::join(
        [&] {
          EXPECT_TRUE(begun.wait());
          throw counted_error(1);
        },
        g);
  });
}

TEST_P(failing_siblings_in_parallel, stop_the_token_that_the_stolen_half_is_given) {
  leak_check const leaks;
  milestone begun;
  bool in_time = false;
  EXPECT_TRUE(fails_beside(pool, begun, [&](std::stop_token token) {
    begun.reach();
    in_time = stopped_in_time(token);
  }));
  EXPECT_TRUE(in_time);
}

TEST_P(failing_siblings_in_parallel, stop_the_token_that_the_stolen_half_asks_for) {
  milestone begun;
  bool in_time = false;
  EXPECT_TRUE(fails_beside(pool, begun, [&] {
    begun.reach();
    in_time = stopped_in_time(rubato::this_task_stop_token());
  }));
  EXPECT_TRUE(in_time);
}

TEST_P(failing_siblings_in_parallel, stop_a_half_that_was_handed_a_context) {
  milestone begun;
  bool in_time = false;
  EXPECT_TRUE(throws(pool, 1, [&] {
    rubato::with_context([&](rubato::context& c) {
      rubato::join(
          c,
          [&](rubato::context&) {
            EXPECT_TRUE(begun.wait());
            throw counted_error(1);
          },
          [&](rubato::context&) {
            begun.reach();
            in_time = stopped_in_time(rubato::this_task_stop_token());
          });
    });
  }));
  EXPECT_TRUE(in_time);
}

/// The half waits for a promise that is kept only afterwards.
TEST_P(failing_siblings_in_parallel, end_a_wait_of_the_stolen_half) {
  leak_check const leaks;
  rubato::promise<int> never;
  auto result = never.get_future();
  milestone begun;
  bool cancelled = false;
  EXPECT_TRUE(fails_beside(pool, begun, [&] {
    begun.reach();
    try {
      static_cast<void>(result.get());
    } catch (rubato::cancelled const&) {
      cancelled = true;
      throw;
    }
  }));
  EXPECT_TRUE(cancelled);
  never.set_value(1);
}

TEST_P(failing_siblings_in_parallel, reach_what_the_stolen_half_has_forked_and_opened) {
  milestone begun;
  std::atomic<int> in_time{0};
  auto const count = [&] { in_time += stopped_in_time(rubato::this_task_stop_token()) ? 1 : 0; };
  EXPECT_TRUE(fails_beside(pool, begun, [&] {
    begun.reach();
    rubato::join(count, count);
    rubato::with_scope([&](rubato::scope& s) { s.spawn(count); });
  }));
  EXPECT_GE(in_time.load(), 2); // a scope that is stopped from the start begins nothing
}

TEST_P(failing_siblings_in_parallel, reach_a_coroutine_that_the_stolen_half_returns) {
  milestone begun;
  bool ended_early = false;
  rubato::promise<void> never;
  auto result = never.get_future();
  auto const waits = [&]() -> rubato::task<void> {
    begun.reach();
    try {
      co_await std::move(result);
    } catch (rubato::cancelled const&) {
      ended_early = true;
    }
  };
  EXPECT_TRUE(fails_beside(pool, begun, waits));
  EXPECT_TRUE(ended_early);
}

TEST_P(failing_siblings_in_parallel, reach_all_the_rest_of_an_invoke) {
  milestone begun;
  std::atomic<int> running{0}, in_time{0};
  auto const waits = [&](std::stop_token token) {
    ++running;
    begun.reach();
    in_time += stopped_in_time(token) ? 1 : 0;
  };
  EXPECT_TRUE(throws(pool, 1, [&] {
    rubato::invoke(
        [&] {
          EXPECT_TRUE(begun.wait());
          throw counted_error(1);
        },
        waits, waits, waits);
  }));
  EXPECT_EQ(in_time.load(), running.load());
}

TEST_P(failing_siblings_in_parallel, leave_the_stop_of_the_task_around_alone) {
  milestone begun;
  bool around = true;
  pool.spawn([&](std::stop_token token) {
        try {
          rubato::join(
              [&] {
                EXPECT_TRUE(begun.wait());
                throw counted_error(1);
              },
              [&] {
                begun.reach();
                EXPECT_TRUE(stopped_in_time(rubato::this_task_stop_token()));
              });
        } catch (counted_error const&) {
          around = token.stop_requested() || rubato::this_task_stop_token().stop_requested();
        }
      })
      .get();
  EXPECT_FALSE(around);
}

TEST_P(failing_siblings_in_parallel, a_stop_of_the_task_around_reaches_the_stolen_half) {
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

/// A callback runs in the thread that fails, and the half that has given it the scope does not end before it.
TEST_P(failing_siblings_in_parallel, wait_for_the_callbacks_of_the_stop) {
  for (int round = 0; round != 50 && !HasFailure(); ++round) {
    milestone begun, called;
    std::atomic<bool> ended{false};
    std::thread::id failed, caller;
    EXPECT_TRUE(throws(pool, 1, [&] {
      rubato::join(
          [&] {
            EXPECT_TRUE(begun.wait());
            failed = std::this_thread::get_id();
            throw counted_error(1);
          },
          [&] {
            std::stop_callback const tell(rubato::this_task_stop_token(), [&] {
              caller = std::this_thread::get_id();
              called.reach();
              std::this_thread::yield();
              ended = true;
            });
            begun.reach();
            EXPECT_TRUE(called.wait());
          });
    }));
    ASSERT_EQ(failed, caller);
    ASSERT_TRUE(ended);
  }
}

/// The half may not have begun, may run, may be about to end: it is skipped or stopped, and touches nothing
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
            else if (round % 4 == 3)
              static_cast<void>(stopped_in_time(rubato::this_task_stop_token()));
            ++ended;
            return counted(1);
          });
    }));
    ASSERT_EQ(begun.load(), ended.load());
    ASSERT_LE(begun.load(), 1);
  }
}

/// A loop of a closure that is no task's is not cut short by a discard, whatever thread runs it.
TEST_P(failing_siblings_in_parallel, leave_a_loop_of_an_enqueued_closure_whole_in_a_discard) {
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

TEST_P(failing_siblings_in_parallel, stop_the_other_chunks_of_a_loop) {
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

TEST_P(failing_siblings_in_parallel, end_a_wait_of_the_thread_that_called_the_loop) {
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

TEST_P(failing_siblings_in_parallel, stop_the_other_parts_of_a_reduction) {
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
