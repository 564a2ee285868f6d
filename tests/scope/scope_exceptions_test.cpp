// Exceptions in scopes: the first one goes to the waiter, once, and nothing new is begun after it.
#include <gtest/gtest.h>

#include "support/closing_time.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/values.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

using namespace rubato_test;

namespace {

class scope_exceptions : public on_workers {};
RUBATO_TEST_WITH_WORKERS(scope_exceptions, all_counts);

class parallel_scope_throws : public on_workers {};
RUBATO_TEST_WITH_WORKERS(parallel_scope_throws, counts_in_parallel);

class scope_exceptions_alone : public on_workers {};
RUBATO_TEST_WITH_WORKERS(scope_exceptions_alone, counts_alone);

/// The value of the counted_error that comes out of a scope of the pool.
template<class F>
std::optional<int> thrown_by_scope(rubato::pool& pool, F f) {
  return thrown_by(pool, [&] { rubato::with_scope(f); });
}

TEST_P(scope_exceptions, of_a_child_leave_the_scope) {
  leak_check const leaks;
  for (int round = 0; round != 100 && !HasFailure(); ++round) {
    ASSERT_EQ(thrown_by_scope(pool, [&](rubato::scope& s) { s.spawn([&] { throw counted_error(round); }); }),
              round);
  }
}

TEST_P(scope_exceptions, of_the_function_leave_after_the_children) {
  leak_check const leaks;
  for (int round = 0; round != 100 && !HasFailure(); ++round) {
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    EXPECT_EQ(thrown_by_scope(pool,
                              [&](rubato::scope& s) {
                                for (int i = 0; i != 20; ++i) {
                                  s.spawn([&] {
                                    ++begun;
                                    std::this_thread::yield();
                                    ++ended;
                                  });
                                }
                                throw counted_error(5);
                              }),
              5);
    auto const begun_at_throw = begun.load();
    ASSERT_EQ(begun_at_throw, ended.load());
  }
}

TEST_P(scope_exceptions, of_many_children_come_out_as_one) {
  leak_check const leaks;
  for (int round = 0; round != 50 && !HasFailure(); ++round) {
    std::atomic<int> thrown{0};
    auto const value = thrown_by_scope(pool, [&](rubato::scope& s) {
      for (int i = 0; i != 20; ++i) {
        s.spawn([&, i] {
          ++thrown;
          throw counted_error(i);
        });
      }
    });
    ASSERT_GE(thrown.load(), 1);
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 20);
  }
}

TEST_P(scope_exceptions, come_out_of_wait_and_then_not_again) {
  leak_check const leaks;
  int catches = 0;
  auto const outside = thrown_by_scope(pool, [&](rubato::scope& s) {
    s.spawn([] { throw counted_error(6); });
    try {
      s.wait();
    } catch (counted_error const& error) {
      EXPECT_EQ(error.value, 6);
      ++catches;
    }
  });
  EXPECT_EQ(catches, 1);
  EXPECT_EQ(outside, std::nullopt);
}

TEST_P(scope_exceptions, that_pass_through_wait_come_out_once) {
  leak_check const leaks;
  EXPECT_EQ(thrown_by_scope(pool,
                            [&](rubato::scope& s) {
                              s.spawn([] { throw counted_error(6); });
                              s.wait();
                              ADD_FAILURE() << "wait() did not throw";
                            }),
            6);
}

TEST_P(scope_exceptions, drop_the_result_of_the_function) {
  leak_check const leaks;
  EXPECT_THROW(pool.run([] {
    rubato::with_scope([](rubato::scope& s) {
      s.spawn([] { throw counted_error(1); });
      return counted(2);
    });
  }),
               counted_error);
}

TEST_P(scope_exceptions, of_an_inner_scope_may_stay_in_the_outer_one) {
  leak_check const leaks;
  std::atomic<int> caught{0};
  EXPECT_EQ(thrown_by_scope(pool,
                            [&](rubato::scope& outer) {
                              for (int i = 0; i != 10; ++i) {
                                outer.spawn([&, i] {
                                  try {
                                    rubato::with_scope([&](rubato::scope& inner) {
                                      inner.spawn([&] { throw counted_error(i); });
                                    });
                                  } catch (counted_error const& error) {
                                    caught += error.value == i;
                                  }
                                });
                              }
                            }),
            std::nullopt);
  EXPECT_EQ(caught.load(), 10);
}

TEST_P(scope_exceptions, of_an_inner_scope_go_through_the_outer_one) {
  leak_check const leaks;
  EXPECT_EQ(thrown_by_scope(pool,
                            [&](rubato::scope& outer) {
                              outer.spawn([] {
                                rubato::with_scope([&](rubato::scope& inner) {
                                  inner.spawn([&] { throw counted_error(8); });
                                });
                              });
                            }),
            8);
}

TEST_P(scope_exceptions, let_no_new_child_begin) {
  closing_time time;
  std::atomic<int> count{0};
  auto const value = thrown_by_scope(pool, [&](rubato::scope& s) {
    struct endless {
      static void child(rubato::scope& s, closing_time& time, std::atomic<int>& count) {
        time.begin();
        if (++count == 100) {
          time.close();
          throw counted_error(100);
        }
        if (!time.overdue()) s.spawn([&s, &time, &count] { child(s, time, count); });
      }
    };
    for (int i = 0; i != 4; ++i) s.spawn([&] { endless::child(s, time, count); });
    s.wait();
  });
  EXPECT_EQ(value, 100);
  EXPECT_FALSE(time.overdue());
}

TEST_P(scope_exceptions, leave_the_pool_as_good_as_before) {
  leak_check const leaks;
  for (int round = 0; round != 200 && !HasFailure(); ++round) {
    ASSERT_EQ(thrown_by_scope(pool, [](rubato::scope& s) { s.spawn([] { throw counted_error(1); }); }), 1);
    std::atomic<int> count{0};
    ASSERT_EQ(thrown_by_scope(pool,
                              [&](rubato::scope& s) {
                                for (int i = 0; i != 5; ++i) s.spawn([&] { ++count; });
                              }),
              std::nullopt);
    ASSERT_EQ(count.load(), 5);
  }
}

TEST_P(scope_exceptions_alone, let_no_other_child_begin_at_all) {
  // With one thread the children run one by one, so the first to throw is the last to run.
  on_only_thread(pool, [&] {
    int begun = 0;
    int first = -1;
    auto const value = thrown_by_scope(pool, [&](rubato::scope& s) {
      for (int i = 0; i != 10; ++i) {
        s.spawn([&, i] {
          if (begun++ == 0) first = i;
          throw counted_error(i);
        });
      }
      s.wait();
    });
    EXPECT_EQ(begun, 1);
    EXPECT_EQ(value, first);
  });
}

TEST_P(parallel_scope_throws, wait_for_the_children_that_run) {
  std::atomic<bool> ended{false};
  milestone begun;
  EXPECT_EQ(thrown_by_scope(pool,
                            [&](rubato::scope& s) {
                              s.spawn([&] {
                                begun.reach();
                                std::this_thread::sleep_for(std::chrono::milliseconds(
                                    20)); // gives a scope that does not wait time to err
                                ended = true;
                              });
                              EXPECT_TRUE(begun.wait());
                              throw counted_error(3);
                            }),
            3);
  EXPECT_TRUE(ended);
}

TEST_P(parallel_scope_throws, end_the_loops_of_other_children) {
  closing_time time;
  EXPECT_EQ(thrown_by_scope(pool,
                            [&](rubato::scope& s) {
                              milestone begun;
                              s.spawn([&] {
                                rubato::for_index(std::int64_t{0}, std::int64_t{1'000'000'000'000},
                                                  [&](std::int64_t i) {
                                                    time.begin();
                                                    if (i == 0) begun.reach();
                                                    if (time.overdue()) throw counted_error(-2);
                                                  });
                              });
                              s.spawn([&] {
                                EXPECT_TRUE(begun.wait());
                                time.close();
                                throw counted_error(6);
                              });
                              s.wait();
                            }),
            6);
  EXPECT_FALSE(time.overdue());
}

TEST_P(parallel_scope_throws, of_two_children_at_once_come_as_one) {
  leak_check const leaks;
  for (int round = 0; round != 50 && !HasFailure(); ++round) {
    rendezvous both(2);
    auto const value = thrown_by_scope(pool, [&](rubato::scope& s) {
      for (int i = 1; i <= 2; ++i) {
        s.spawn([&, i] {
          EXPECT_TRUE(both.meet());
          throw counted_error(i);
        });
      }
    });
    ASSERT_TRUE(value == 1 || value == 2) << value.value_or(-1);
  }
}

} // namespace
