// f's exception wins; g is skipped or waited for; nothing is lost and nothing is thrown twice.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/values.hpp"

#include <rubato/join.hpp>
#include <rubato/thread_pool.hpp>

#include <atomic>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

using namespace rubato_test;

namespace {

class join_exceptions : public on_workers {};
RUBATO_TEST_WITH_WORKERS(join_exceptions, all_counts);

/// Where another thread can begin g while f runs.
class parallel_join_throws : public on_workers {};
RUBATO_TEST_WITH_WORKERS(parallel_join_throws, counts_in_parallel);

/// Where no other thread is there to begin g.
class join_exceptions_alone : public on_workers {};
RUBATO_TEST_WITH_WORKERS(join_exceptions_alone, counts_alone);

TEST_P(join_exceptions, of_f_reach_the_caller) {
  leak_check const leaks;
  auto const value = thrown_by(pool, [] { rubato::join([] { throw counted_error(1); }, [] {}); });
  EXPECT_EQ(value, 1);
}

TEST_P(join_exceptions, of_g_reach_the_caller_after_f_has_ended) {
  leak_check const leaks;
  bool f_ended = false;
  auto const value =
      thrown_by(pool, [&] { rubato::join([&] { f_ended = true; }, [] { throw counted_error(2); }); });
  EXPECT_EQ(value, 2);
  EXPECT_TRUE(f_ended);
}

TEST_P(join_exceptions, of_f_win_over_those_of_g) {
  leak_check const leaks;
  for (int round = 0; round != 200 && !HasFailure(); ++round) {
    auto const value =
        thrown_by(pool, [] { rubato::join([] { throw counted_error(1); }, [] { throw counted_error(2); }); });
    ASSERT_EQ(value, 1);
  }
}

TEST_P(join_exceptions, drop_the_result_of_the_other_half) {
  leak_check const leaks;
  for (int round = 0; round != 100 && !HasFailure(); ++round) {
    EXPECT_EQ(thrown_by(pool,
                        [] {
                          rubato::join([] { return counted(7); },
                                       []() -> counted { throw counted_error(2); });
                        }),
              2);
    EXPECT_EQ(thrown_by(pool,
                        [] {
                          rubato::join([]() -> counted { throw counted_error(1); },
                                       [] { return counted(8); });
                        }),
              1);
  }
}

TEST_P(join_exceptions, leave_nothing_running) {
  for (int round = 0; round != 300 && !HasFailure(); ++round) {
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    auto frame = std::make_unique<int>(0); // dies with the throw: g must not touch it afterwards
    auto const g = [&] {
      ++begun;
      *frame += 1;
      std::this_thread::yield();
      *frame += 1;
      ++ended;
    };
    EXPECT_EQ(thrown_by(pool, [&] { rubato::join([] { throw counted_error(1); }, g); }), 1);
    auto const begun_at_throw = begun.load();
    ASSERT_EQ(begun_at_throw, ended.load());
    ASSERT_LE(begun_at_throw, 1);
    frame.reset();
    ASSERT_EQ(begun.load(), begun_at_throw) << "g was begun after the join had thrown";
  }
}

TEST_P(join_exceptions, keep_type_and_identity) {
  auto const error = std::make_exception_ptr(std::runtime_error("this one"));
  auto const throws = [&] { std::rethrow_exception(error); };
  auto const nothing = [] {};
  for (bool const first : {true, false}) {
    try {
      pool.run([&] { first ? void(rubato::join(throws, nothing)) : void(rubato::join(nothing, throws)); });
      ADD_FAILURE() << "nothing was thrown";
    } catch (...) {
      EXPECT_EQ(std::current_exception(), error);
    }
  }
  EXPECT_THROW(pool.run([&] { rubato::join([] { throw 42; }, nothing); }), int);
  EXPECT_THROW(pool.run([&] { rubato::join(nothing, [] { throw std::string("text"); }); }), std::string);
}

TEST_P(join_exceptions, pass_through_many_joins) {
  leak_check const leaks;
  struct nested {
    static int down(int depth) {
      if (depth == 0) throw counted_error(99);
      auto [a, b] = depth % 2 == 0 ? rubato::join([&] { return down(depth - 1); }, [] { return 1; })
                                   : rubato::join([] { return 1; }, [&] { return down(depth - 1); });
      return a + b;
    }
  };
  EXPECT_EQ(thrown_by(pool, [] { nested::down(200); }), 99);
}

TEST_P(join_exceptions, can_be_caught_inside_the_half_that_threw) {
  auto const safe = [](int n) {
    try {
      rubato::join([] {}, [n] { throw counted_error(n); });
    } catch (counted_error const& e) {
      return e.value;
    }
    return -1;
  };
  auto [a, b] = pool.run([&] { return rubato::join([&] { return safe(1); }, [&] { return safe(2); }); });
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, 2);
}

TEST_P(join_exceptions, leave_the_pool_as_good_as_before) {
  leak_check const leaks;
  for (int round = 0; round != 500 && !HasFailure(); ++round) {
    EXPECT_EQ(thrown_by(pool,
                        [round] {
                          rubato::join([&] { rubato::join([] {}, [&] { throw counted_error(round); }); },
                                       [] {});
                        }),
              round);
    auto [a, b] = pool.run([&] { return rubato::join([&] { return round; }, [] { return 1; }); });
    EXPECT_EQ(a + b, round + 1);
  }
}

/// While f's exception waits for g, the waiting thread may help with what descends from g. Counts for how
/// many pieces of that the predicate holds.
template<class Predicate>
int helped_under_an_exception(rubato::pool& pool, Predicate predicate) {
  struct tree {
    static void grow(int depth, Predicate& predicate, std::atomic<int>& count) {
      if (predicate()) ++count;
      if (depth == 0) return;
      rubato::join([&] { grow(depth - 1, predicate, count); }, [&] { grow(depth - 1, predicate, count); });
    }
  };
  std::atomic<int> count{0};
  for (int round = 0; round != 20 && !testing::Test::HasFailure(); ++round) {
    milestone begun;
    bool const others = pool.size() > 1;
    EXPECT_EQ(thrown_by(pool,
                        [&] {
                          rubato::join(
                              [&] {
                                EXPECT_TRUE(!others || begun.wait());
                                throw counted_error(1);
                              },
                              [&] {
                                begun.reach();
                                tree::grow(8, predicate, count);
                              });
                        }),
              1);
  }
  return count.load();
}

TEST_P(join_exceptions, in_flight_are_not_in_flight_for_other_work) {
  EXPECT_EQ(helped_under_an_exception(pool, [] { return std::uncaught_exceptions() != 0; }), 0);
}

TEST_P(join_exceptions, in_flight_are_not_handled_by_other_work) {
  // Or std::throw_with_nested there would name f's exception as the cause of its own.
  EXPECT_EQ(helped_under_an_exception(pool, [] { return std::current_exception() != nullptr; }), 0);
}

TEST_P(join_exceptions, do_not_disturb_a_join_in_a_destructor) {
  struct joins_at_the_end {
    int& sum;
    ~joins_at_the_end() {
      auto [a, b] = rubato::join([] { return 1; }, [] { return 2; });
      sum += a + b;
    }
  };
  int sum = 0;
  EXPECT_EQ(thrown_by(pool,
                      [&] {
                        joins_at_the_end const one{sum};
                        rubato::join(
                            [&] {
                              joins_at_the_end const two{sum};
                              throw counted_error(5);
                            },
                            [] {});
                      }),
            5);
  EXPECT_EQ(sum, 6);
}

TEST_P(join_exceptions, do_not_disturb_a_join_in_a_handler) {
  pool.run([] {
    try {
      throw counted_error(3);
    } catch (counted_error const&) {
      auto const handled = std::current_exception();
      EXPECT_THROW(rubato::join([] { throw counted_error(4); }, [] {}), counted_error);
      EXPECT_THROW(rubato::join([] {}, [] { throw counted_error(4); }), counted_error);
      EXPECT_EQ(std::current_exception(), handled);
    }
  });
}

TEST_P(join_exceptions_alone, of_f_skip_a_g_that_no_thread_has_begun) {
  on_only_thread(pool, [] {
    bool g_ran = false;
    EXPECT_EQ(thrown_by([&] { rubato::join([] { throw counted_error(1); }, [&] { g_ran = true; }); }), 1);
    EXPECT_FALSE(g_ran);
  });
}

TEST_P(parallel_join_throws, of_f_wait_for_a_g_that_has_begun) {
  milestone begun;
  std::atomic<bool> ended{false};
  EXPECT_EQ(thrown_by(pool,
                      [&] {
                        rubato::join(
                            [&] {
                              EXPECT_TRUE(begun.wait());
                              throw counted_error(1);
                            },
                            [&] {
                              begun.reach();
                              std::this_thread::sleep_for(std::chrono::milliseconds(
                                  20)); // gives a join that does not wait time to err
                              ended = true;
                            });
                      }),
            1);
  EXPECT_TRUE(ended);
}

TEST_P(parallel_join_throws, of_both_at_once_are_one_and_f_wins) {
  leak_check const leaks;
  for (int round = 0; round != 50 && !HasFailure(); ++round) {
    rendezvous both(2);
    auto const throws = [&](int value) {
      EXPECT_TRUE(both.meet());
      throw counted_error(value);
    };
    ASSERT_EQ(thrown_by(pool, [&] { rubato::join([&] { throws(1); }, [&] { throws(2); }); }), 1);
  }
}

TEST_P(parallel_join_throws, of_g_on_another_thread_reach_the_caller) {
  leak_check const leaks;
  for (int round = 0; round != 50 && !HasFailure(); ++round) {
    milestone begun;
    ASSERT_EQ(thrown_by(pool,
                        [&] {
                          rubato::join([&] { EXPECT_TRUE(begun.wait()); },
                                       [&] {
                                         begun.reach();
                                         throw counted_error(2);
                                       });
                        }),
              2);
  }
}

} // namespace
