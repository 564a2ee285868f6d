// Exceptions and stops in loops: nothing new is begun, what runs is waited for, the first comes out once.
#include <gtest/gtest.h>

#include "support/closing_time.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/values.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/cancelled.hpp>
#include <rubato/join.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <ranges>
#include <thread>
#include <vector>

using namespace rubato_test;

namespace {

class loop_exceptions : public on_workers {};
RUBATO_TEST_WITH_WORKERS(loop_exceptions, all_counts);

class parallel_loop_throws : public on_workers {};
RUBATO_TEST_WITH_WORKERS(parallel_loop_throws, counts_in_parallel);

class loop_exceptions_alone : public on_workers {};
RUBATO_TEST_WITH_WORKERS(loop_exceptions_alone, counts_alone);

class loop_stops : public on_workers {};
RUBATO_TEST_WITH_WORKERS(loop_stops, all_counts);

constexpr std::int64_t endless = 1'000'000'000'000;

TEST_P(loop_exceptions, come_out_of_every_kind_of_loop) {
  leak_check const leaks;
  std::vector<int> numbers(1'000, 0);
  numbers[700] = 1;
  std::list<int> const linked(numbers.begin(), numbers.end());
  auto const on_one = [](int n) {
    if (n == 1) throw counted_error(7);
  };
  constexpr int expected = 7;
  for (int round = 0; round != 20 && !HasFailure(); ++round) {
    EXPECT_EQ(thrown_by(pool, [&] { rubato::for_index(0, 1'000, [&](int i) { on_one(i == 700); }); }),
              expected);
    EXPECT_EQ(thrown_by(pool,
                        [&] {
                          rubato::for_range(0, 1'000,
                                            [&](int low, int high) { on_one(low <= 700 && 700 < high); });
                        }),
              expected);
    EXPECT_EQ(thrown_by(pool, [&] { rubato::for_each(numbers, on_one); }), expected);
    EXPECT_EQ(thrown_by(pool, [&] { rubato::for_each(linked, on_one); }), expected);
  }
}

TEST_P(loop_exceptions, come_from_the_only_first_and_last_index) {
  leak_check const leaks;
  for (int const length : {1, 2, 3, 100, 5'000}) {
    for (int const bad : {0, length - 1}) {
      EXPECT_EQ(thrown_by(pool,
                          [&] {
                            rubato::for_index(0, length, [&](int i) {
                              if (i == bad) throw counted_error(i);
                            });
                          }),
                bad);
    }
  }
}

TEST_P(loop_exceptions, of_many_indices_come_out_as_one) {
  leak_check const leaks;
  for (int round = 0; round != 50 && !HasFailure(); ++round) {
    EXPECT_EQ(thrown_by(pool, [] { rubato::for_index(0, 1'000, [](int) { throw counted_error(3); }); }), 3);
  }
}

TEST_P(loop_exceptions, leave_nothing_running) {
  for (int round = 0; round != 100 && !HasFailure(); ++round) {
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    auto frame =
        std::make_unique<std::atomic<int>>(0); // dies with the throw: no body may touch it afterwards
    auto const value = thrown_by(pool, [&] {
      rubato::for_index(0, 2'000, [&](int i) {
        ++begun;
        ++*frame;
        if (i % 16 == 0) std::this_thread::yield();
        ++*frame;
        ++ended;
        if (i == 77) throw counted_error(i);
      });
    });
    auto const begun_at_throw = begun.load();
    ASSERT_EQ(value, 77);
    ASSERT_EQ(begun_at_throw, ended.load());
    frame.reset();
    std::this_thread::yield();
    ASSERT_EQ(begun.load(), begun_at_throw);
  }
}

TEST_P(loop_exceptions, let_nothing_new_begin) {
  closing_time time;
  auto const value = thrown_by(pool, [&] {
    rubato::for_index(std::int64_t{0}, endless, [&](std::int64_t i) {
      time.begin();
      if (i == 0) {
        time.close();
        throw counted_error(9);
      }
      if (time.overdue()) throw counted_error(-2);
    });
  });
  EXPECT_EQ(value, 9);
  EXPECT_FALSE(time.overdue());
}

TEST_P(loop_exceptions, let_nothing_begin_in_ranges_of_any_length) {
  closing_time time;
  auto const value = thrown_by(pool, [&] {
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    constexpr auto greatest = std::numeric_limits<std::int64_t>::max();
    rubato::for_range(least, greatest, [&](std::int64_t low, std::int64_t) {
      time.begin();
      if (low == least) {
        time.close();
        throw counted_error(9);
      }
    });
  });
  EXPECT_EQ(value, 9);
  EXPECT_FALSE(time.overdue());
}

TEST_P(loop_exceptions, let_nothing_new_begin_in_single_pass_ranges) {
  closing_time time;
  auto const value = thrown_by(pool, [&] {
    rubato::for_each(std::views::iota(std::int64_t{0}), [&](std::int64_t i) {
      time.begin();
      if (i == 1'000) {
        time.close();
        throw counted_error(9);
      }
    });
  });
  EXPECT_EQ(value, 9);
  EXPECT_FALSE(time.overdue());
}

/// Reduces so many elements that it ends only if nothing new is begun after the exception of the first, which
/// comes when others have begun, if there are any.
template<class Reduce>
void expect_an_exception_ends(rubato::pool& pool, Reduce reduce) {
  closing_time time;
  milestone others_begun;
  std::atomic<bool> wanted{false}; // by the first element, which occupies its thread meanwhile
  auto const numbers = std::views::iota(std::int64_t{0}, endless);
  auto const value = thrown_by(pool, [&] {
    reduce(numbers, std::int64_t{0}, std::plus<>{}, [&](std::int64_t i) {
      time.begin();
      if (i == 0) {
        wanted = true;
        EXPECT_TRUE(pool.size() < 2 || others_begun.wait());
        time.close();
        throw counted_error(9);
      }
      if (wanted.load() && wanted.exchange(false)) others_begun.reach();
      if (time.overdue()) throw counted_error(-2);
      return std::int64_t{1};
    });
  });
  EXPECT_EQ(value, 9);
  EXPECT_FALSE(time.overdue());
}

TEST_P(loop_exceptions, let_nothing_new_begin_in_a_reduction) {
  expect_an_exception_ends(pool, [](auto const&... args) { rubato::reduce(args...); });
}

TEST_P(loop_exceptions, let_nothing_begin_in_deterministic_reduction) {
  expect_an_exception_ends(pool, [](auto const&... args) { rubato::reduce(rubato::deterministic, args...); });
}

TEST_P(loop_exceptions, of_an_inner_loop_may_stay_within_the_outer) {
  leak_check const leaks;
  std::atomic<int> caught{0};
  EXPECT_EQ(thrown_by(pool,
                      [&] {
                        rubato::for_index(0, 50, [&](int i) {
                          try {
                            rubato::for_index(0, 50, [&](int k) {
                              if (k == i) throw counted_error(i);
                            });
                          } catch (counted_error const& error) {
                            caught += error.value == i;
                          }
                        });
                      }),
            std::nullopt);
  EXPECT_EQ(caught.load(), 50);
}

TEST_P(loop_exceptions, of_an_inner_loop_go_through_the_outer_one) {
  leak_check const leaks;
  EXPECT_EQ(thrown_by(pool,
                      [] {
                        rubato::for_index(0, 50, [](int i) {
                          rubato::for_index(0, 50, [i](int k) {
                            if (i == 25 && k == 25) throw counted_error(25);
                          });
                        });
                      }),
            25);
}

TEST_P(loop_exceptions_alone, let_no_other_index_begin_at_all) {
  // With one thread the bodies run one by one, so the first to throw is the last to run.
  on_only_thread(pool, [] {
    int begun = 0;
    EXPECT_EQ(thrown_by([&] {
                rubato::for_index(0, 1'000, [&](int) {
                  ++begun;
                  throw counted_error(1);
                });
              }),
              1);
    EXPECT_EQ(begun, 1);
  });
}

TEST_P(parallel_loop_throws, wait_for_the_bodies_that_run) {
  for (int round = 0; round != 20 && !HasFailure(); ++round) {
    milestone begun;
    std::atomic<bool> ended{false};
    EXPECT_EQ(thrown_by(pool,
                        [&] {
                          rubato::for_index(0, 2, [&](int i) {
                            if (i == 0) {
                              EXPECT_TRUE(begun.wait());
                              throw counted_error(1);
                            }
                            begun.reach();
                            std::this_thread::sleep_for(
                                std::chrono::milliseconds(2)); // gives a loop that does not wait time to err
                            ended = true;
                          });
                        }),
              1);
    ASSERT_TRUE(ended);
  }
}

TEST_P(parallel_loop_throws, of_two_bodies_at_once_come_out_as_one) {
  leak_check const leaks;
  for (int round = 0; round != 50 && !HasFailure(); ++round) {
    rendezvous both(2);
    auto const value = thrown_by(pool, [&] {
      rubato::for_index(0, 2, [&](int i) {
        EXPECT_TRUE(both.meet());
        throw counted_error(i);
      });
    });
    ASSERT_TRUE(value == 0 || value == 1) << value.value_or(-1);
  }
}

/// Runs, in a task of a scope, a loop that ends only if the stop of the scope, requested by one of its
/// bodies, reaches it.
template<class Loop>
void expect_a_stop_ends(rubato::pool& pool, Loop loop) {
  closing_time time;
  bool cancelled = false;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn([&] {
        try {
          loop([&](std::int64_t i) {
            time.begin();
            if (i == 0) {
              time.close();
              s.request_stop();
            }
            if (time.overdue()) throw counted_error(-2);
          });
        } catch (rubato::cancelled const&) {
          cancelled = true;
        } catch (counted_error const&) {
        } // overdue, and reported below
      });
    });
  });
  EXPECT_FALSE(time.overdue());
  EXPECT_TRUE(cancelled) << "a loop that was cut short must not return as if it had been whole";
}

TEST_P(loop_stops, end_an_index_loop) {
  expect_a_stop_ends(pool, [](auto body) { rubato::for_index(std::int64_t{0}, endless, body); });
}

TEST_P(loop_stops, end_a_range_loop) {
  expect_a_stop_ends(pool, [](auto body) {
    rubato::for_range(std::int64_t{0}, endless, [&](std::int64_t low, std::int64_t) { body(low); });
  });
}

TEST_P(loop_stops, end_a_loop_over_a_range_with_random_access) {
  expect_a_stop_ends(pool,
                     [](auto body) { rubato::for_each(std::views::iota(std::int64_t{0}, endless), body); });
}

TEST_P(loop_stops, end_a_loop_over_a_range_without_an_end) {
  expect_a_stop_ends(pool, [](auto body) { rubato::for_each(std::views::iota(std::int64_t{0}), body); });
}

/// A map that calls the body; a range that only a stop can end.
constexpr auto reduce_endlessly = [](auto body, auto... tag) {
  rubato::reduce(tag..., std::views::iota(std::int64_t{0}, endless), std::int64_t{0}, std::plus<>{},
                 [&](std::int64_t i) {
                   body(i);
                   return std::int64_t{1};
                 });
};

TEST_P(loop_stops, end_a_reduction) {
  expect_a_stop_ends(pool, [](auto body) { reduce_endlessly(body); });
}

TEST_P(loop_stops, end_a_deterministic_reduction) {
  expect_a_stop_ends(pool, [](auto body) { reduce_endlessly(body, rubato::deterministic); });
}

TEST_P(loop_stops, keep_a_loop_in_a_stopped_scope_from_beginning) {
  std::atomic<int> begun{0};
  bool cancelled = false;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn([&] {
        s.request_stop();
        try {
          rubato::for_index(0, 1'000, [&](int) { ++begun; });
        } catch (rubato::cancelled const&) {
          cancelled = true;
        }
      });
    });
  });
  EXPECT_EQ(begun.load(), 0);
  EXPECT_TRUE(cancelled);
}

TEST_P(loop_stops, reach_a_loop_below_joins_and_loops) {
  expect_a_stop_ends(pool, [](auto body) {
    rubato::join(
        [] {},
        [&] { rubato::for_index(0, 2, [&](int) { rubato::for_index(std::int64_t{0}, endless, body); }); });
  });
}

TEST_P(loop_stops, of_an_inner_scope_leave_the_loop_around_it_alone) {
  std::atomic<int> begun{0};
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& outer) {
      outer.spawn([&] {
        rubato::for_index(0, 1'000, [&](int) {
          ++begun;
          rubato::with_scope([&](rubato::scope& inner) { inner.request_stop(); });
        });
      });
    });
  });
  EXPECT_EQ(begun.load(), 1'000);
}

} // namespace
