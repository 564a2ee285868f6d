// What ends a race or a hedge from outside: tokens, deadlines, the caller's own task, the pool's end.
#include <gtest/gtest.h>

#include "hedge/calls.hpp"
#include "support/hang_guard.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::cancelled;
using rubato::race_options;
using rubato::race_report;
using outcome = race_report::outcome;
using std::chrono::steady_clock;

namespace {

/// Returns when it is asked to stop.
struct until_stopped {
  std::shared_ptr<arrivals> begun = std::make_shared<arrivals>();
  int operator()(std::stop_token stop) const {
    begun->arrive();
    EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
    return 1; // too late to win
  }
};

class hedged_ends : public on_workers {};
RUBATO_TEST_WITH_WORKERS(hedged_ends, all_counts);

TEST_P(hedged_ends, a_stop_comes_before) {
  std::stop_source source;
  source.request_stop();
  for_both([&](auto const& call) {
    race_report report;
    auto const calls = std::make_shared<std::atomic<int>>(0);
    EXPECT_THROW(call(pool, unpinned(2).stop(source.get_token()).report(&report), [calls] { ++*calls; }),
                 cancelled);
    EXPECT_EQ(*calls, 0);
    EXPECT_FALSE(report.winner.has_value());
    for (auto const& c : report.copies) EXPECT_EQ(c.what, outcome::withdrawn);
  });
}
TEST_P(hedged_ends, a_stop_comes_while_copies_run) {
  for_both([&](auto const& call) {
    std::stop_source source;
    until_stopped const f;
    std::thread stopper([&] {
      EXPECT_TRUE(f.begun->wait_for(2));
      source.request_stop();
    });
    EXPECT_THROW(call(pool, unpinned(2).stop(source.get_token()), f), cancelled);
    stopper.join();
  });
}
TEST_P(hedged_ends, a_stop_comes_at_any_time) {
  for_both([&](auto const& call) {
    for (std::size_t i = 0; i != scaled(300); ++i) {
      std::stop_source source;
      auto const stopped = std::make_shared<std::atomic<bool>>(false);
      std::atomic<bool> go{false};
      std::thread stopper([&] {
        while (!go) std::this_thread::yield();
        source.request_stop();
        *stopped = true; // a copy that begins to return after this never wins
      });
      try {
        EXPECT_FALSE(call(pool, unpinned(2).stop(source.get_token()), [stopped, &go] {
          bool const late = *stopped;
          go = true;
          return late;
        }));
      } catch (cancelled const&) { // the stop came first
      }
      stopper.join();
      EXPECT_TRUE(pool.wait_idle());
    }
  });
}
TEST_P(hedged_ends, a_deadline_has_passed) {
  for_both([&](auto const& call) {
    auto const calls = std::make_shared<std::atomic<int>>(0);
    EXPECT_THROW(call(pool, unpinned(2).deadline(steady_clock::now()), [calls] { ++*calls; }), cancelled);
    EXPECT_EQ(*calls, 0);
  });
}
TEST_P(hedged_ends, a_deadline_stops_copies_that_look_at_their_token) {
  for_both([&](auto const& call) {
    EXPECT_THROW(call(pool, unpinned(2).deadline(steady_clock::now() + 5ms), until_stopped()), cancelled);
  });
}
TEST_P(hedged_ends, a_copy_that_is_back_after_the_deadline_loses) {
  for_both([&](auto const& call) {
    auto const t = steady_clock::now() + 3ms;
    EXPECT_THROW(call(pool, unpinned(2).deadline(t),
                      [t] {
                        while (steady_clock::now() < t) {
                        }
                        return 1;
                      }),
                 cancelled);
  });
}
TEST_P(hedged_ends, a_deadline_that_does_not_come_leaves_nothing) {
  for_both([&](auto const& call) {
    EXPECT_EQ(call(pool, unpinned(2).deadline(steady_clock::now() + 1h), [] { return 1; }), 1);
    EXPECT_EQ(call(pool, unpinned(2).deadline(rubato::never), [] { return 1; }), 1);
    EXPECT_TRUE(pool.wait_idle(20s)); // no timer is armed
  });
}
TEST_P(hedged_ends, the_callers_task_is_stopped) {
  for_both([&](auto const& call) {
    until_stopped const f;
    auto task = pool.spawn([&] { return call(unpinned(2), f); });
    std::thread stopper([&] {
      EXPECT_TRUE(f.begun->wait_for(2));
      task.cancel();
    });
    EXPECT_THROW(task.get(), cancelled); // in a pool without workers this thread runs the task
    stopper.join();
    EXPECT_TRUE(pool.wait_idle());
  });
}
TEST_P(hedged_ends, the_callers_scope_fails) {
  for_both([&](auto const& call) {
    until_stopped const f;
    struct failure {};
    EXPECT_THROW(pool.run([&] {
      rubato::with_scope([&](rubato::scope& s) {
        s.spawn([&] { EXPECT_THROW(call(unpinned(2), f), cancelled); });
        s.spawn([&]() { // in a pool without workers children run one after the other
          if (GetParam() < 2) return;
          EXPECT_TRUE(f.begun->wait_for(2));
          throw failure();
        });
        if (GetParam() < 2) s.request_stop(), throw failure();
      });
    }),
                 failure);
    EXPECT_TRUE(pool.wait_idle());
  });
}
TEST_P(hedged_ends, the_losers_stop_callbacks_have_run_at_the_return) {
  for_both([&](auto const& call) {
    auto const listens = std::make_shared<milestone>();
    auto const told = std::make_shared<std::atomic<bool>>(false);
    auto const first = std::make_shared<std::atomic<bool>>(true);
    call(pool, unpinned(2), [=](std::stop_token stop) {
      if (first->exchange(false)) {
        EXPECT_TRUE(listens->wait());
        return;
      }
      std::stop_callback const tells(stop, [told] { *told = true; });
      listens->reach();
      EXPECT_TRUE(eventually([&] { return told->load(); }));
    });
    EXPECT_TRUE(*told);
    EXPECT_TRUE(pool.wait_idle());
  });
}
TEST_P(hedged_ends, a_failing_copy_of_the_callable_throws_that_error) {
  struct uncopyable_now {
    int value = 1;
    uncopyable_now() = default;
    uncopyable_now(uncopyable_now const&) { throw 7; }
    int operator()() const { return value; }
  };
  uncopyable_now const f;
  race_report report;
  EXPECT_EQ(rubato::race(pool, unpinned(2).report(&report), f), 1); // borrowed
  EXPECT_THROW(static_cast<void>(rubato::hedge(pool, unpinned(2), f)), int);
  EXPECT_THROW(static_cast<void>(pool.block_on(rubato::async_hedge(unpinned(2), f))), int);
  EXPECT_TRUE(pool.wait_idle(20s)); // nothing is left of them
}
TEST_P(hedged_ends, an_inner_call_ends_with_the_outer_one) {
  for_both([&](auto const& call) {
    auto const won = std::make_shared<std::atomic<bool>>(false);
    auto const inner = std::make_shared<arrivals>();
    EXPECT_EQ(rubato::race(pool, unpinned(2),
                           [&, won, inner](std::stop_token) {
                             if (!won->exchange(true)) {
                               EXPECT_TRUE(inner->wait_for(2));
                               return 1;
                             }
                             until_stopped const f{inner};
                             EXPECT_THROW(call(pool, unpinned(2), f), cancelled);
                             return 2;
                           }),
              1);
    EXPECT_TRUE(pool.wait_idle());
  });
}

TEST(hedged_pools, a_drain_waits_for_copies_and_shows_in_tokens) {
  for (unsigned const workers : {0U, 1U, 2U, 33U})
    for_both([&](auto const& call) {
      hang_guard const guard;
      rubato::pool pool(rubato_test::with_workers(workers));
      until_stopped const f;
      std::optional<int> result;
      std::thread caller([&] { result = call(pool, unpinned(2), f); });
      EXPECT_TRUE(f.begun->wait_for(2));
      pool.shutdown(rubato::drain);
      caller.join();
      EXPECT_EQ(result, 1);
    });
}
TEST(hedged_pools, a_discard_reaches_the_copies) {
  for (unsigned const workers : {0U, 1U, 2U, 33U})
    for_both([&](auto const& call) {
      hang_guard const guard;
      rubato::pool pool(rubato_test::with_workers(workers));
      until_stopped const f;
      std::thread caller([&] {
        try {
          static_cast<void>(call(pool, unpinned(2), f));
        } catch (cancelled const&) { // a copy that was about to begin was dropped
        }
      });
      EXPECT_TRUE(f.begun->wait_for(2));
      pool.shutdown(rubato::discard);
      caller.join();
    });
}
TEST(hedged_pools, a_discard_ends_the_wait_of_a_hedge_in_a_task) {
  for (unsigned const workers : {1U, 2U, 33U}) {
    hang_guard const guard;
    rubato::pool pool(rubato_test::with_workers(workers)), other(2);
    auto const over = std::make_shared<milestone>();
    auto const begun = std::make_shared<milestone>();
    auto task = pool.spawn([&] {
      return rubato::hedge(other, unpinned(1), [over, begun] {
        begun->reach();
        return over->wait();
      });
    });
    EXPECT_TRUE(begun->wait());
    pool.shutdown(rubato::discard);
    EXPECT_THROW(static_cast<void>(task.get()), cancelled);
    over->reach();
  }
}
TEST(hedged_pools, calls_and_ends_at_any_time) {
  for (std::size_t i = 0; i != scaled(100); ++i) {
    hang_guard const guard;
    rubato::pool pool(rubato_test::with_workers(static_cast<unsigned>(i % 3)));
    std::atomic<int> done{0};
    std::vector<std::thread> callers;
    for (int t = 0; t != 2; ++t)
      callers.emplace_back([&, t] {
        for (int n = 0; n != 20; ++n) try {
            EXPECT_EQ(t == 0 ? rubato::race(pool, unpinned(3), [n] { return n; })
                             : rubato::hedge(pool, unpinned(3), [n] { return n; }),
                      n);
          } catch (cancelled const&) {
          }
        ++done;
      });
    if (i % 2 == 0)
      pool.shutdown(rubato::discard);
    else
      pool.shutdown(rubato::drain);
    for (auto& c : callers) c.join();
    EXPECT_EQ(done, 2);
  }
}
TEST(hedged_pools, a_closed_pool_runs_a_race_on_its_caller) {
  hang_guard const guard;
  rubato::pool pool(2);
  pool.shutdown();
  race_report report;
  for_both([&](auto const& call) {
    EXPECT_EQ(call(pool, unpinned(2).report(&report), [] { return 1; }), 1);
    EXPECT_EQ(report.winner, 0U);
    EXPECT_TRUE(report.copies.at(0).on_caller);
    EXPECT_EQ(report.copies.at(1).what, outcome::withdrawn);
  });
  pool.resize(2);
  EXPECT_EQ(rubato::hedge(pool, unpinned(2), [] { return 2; }), 2);
}

/// In such a pool no thread can be had for a copy.
template<class F>
void for_pools_without_threads(F const& test) {
  {
    SCOPED_TRACE("no workers, no spares");
    hang_guard const guard;
    rubato::pool pool(rubato::pool_options().workers(rubato::no_workers).spares(0));
    test(pool);
  }
  {
    SCOPED_TRACE("shut down");
    hang_guard const guard;
    rubato::pool pool(2);
    pool.shutdown();
    test(pool);
  }
}

TEST(hedged_pools, regression_a_throw_ends_a_call_without_threads) {
  for_pools_without_threads([](rubato::pool& pool) {
    for_both([&](auto const& call) {
      race_report report;
      EXPECT_THROW(
          call(pool, unpinned(2).report(&report).deadline(steady_clock::now() + 1h), [] { throw 1; }), int);
      ASSERT_EQ(report.copies.size(), 2U);
      EXPECT_EQ(report.copies[0].what, outcome::threw);
      EXPECT_EQ(report.copies[1].what, outcome::withdrawn);
    });
  });
}
TEST(hedged_pools, regression_copies_without_threads_leave_nothing) {
  for_pools_without_threads([](rubato::pool& pool) {
    for_both([&](auto const& call) {
      for (int i = 0; i != 10; ++i) EXPECT_EQ(call(pool, unpinned(3), [i] { return i; }), i);
      EXPECT_EQ(pool.pending(), 0U);
    });
  });
}
TEST(hedged_pools, regression_deadlines_end_hedges_on_one_thread) {
  hang_guard const guard;
  rubato::pool pool(rubato::pool_options().workers(rubato::no_workers).spares(1));
  auto const over = std::make_shared<milestone>();
  EXPECT_THROW(rubato::hedge(pool, unpinned(1).deadline(steady_clock::now() + 5ms),
                             [over] { EXPECT_TRUE(over->wait()); }),
               cancelled);
  over->reach();
  EXPECT_TRUE(pool.wait_idle());
}
TEST(hedged_pools, regression_unthreaded_deadlines_leave_nothing) {
  for_pools_without_threads([](rubato::pool& pool) {
    for_both([&](auto const& call) {
      auto const before = pool.stats().timers;
      EXPECT_THROW(call(pool, unpinned(2).deadline(steady_clock::now() + 3ms),
                        [&] { EXPECT_TRUE(eventually([&] { return pool.stats().timers != before; })); }),
                   cancelled);
      EXPECT_EQ(pool.pending(), 0U);
    });
  });
}
TEST(hedged_pools, regression_deadlines_at_the_end_leave_nothing) {
  hang_guard const guard;
  auto const round = [] {
    auto held = std::make_shared<int>(0);
    std::weak_ptr<int> const left = held;
    {
      rubato::pool pool(1);
      pool.shutdown();
      EXPECT_THROW(rubato::hedge(pool, unpinned(2).deadline(steady_clock::now() + 200us),
                                 [held = std::move(held), &pool] {
                                   EXPECT_TRUE(eventually([&] { return pool.stats().timers != 0; }));
                                 }),
                   cancelled);
    } // perhaps before the thread that has fired the timer has left it
    EXPECT_TRUE(eventually([&] { return left.expired(); }));
  };
  std::vector<std::jthread> threads; // more than CPUs: the firer is interrupted now and then
  for (int t = 0; t != 8; ++t)
    threads.emplace_back([&] {
      for (std::size_t i = 0; i != scaled(100); ++i) round();
    });
}
TEST(hedged_pools, a_caller_awaiting_losers_watches_the_deadline) {
  hang_guard const guard;
  rubato::pool pool(rubato::pool_options().workers(rubato::no_workers).spares(1)); // for the second copy
  auto const caller = std::this_thread::get_id();
  EXPECT_THROW(rubato::race(pool, unpinned(2).deadline(steady_clock::now() + 5ms),
                            [caller](std::stop_token stop) {
                              if (std::this_thread::get_id() == caller) throw 1;
                              EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
                            }),
               cancelled);
}
TEST(hedged_pools, regression_a_stop_reaches_calls_in_other_pools) {
  for_both([&](auto const& call) {
    hang_guard const guard;
    rubato::pool pool(2), other(2);
    until_stopped const f;
    auto task = pool.spawn([&] { return call(other, unpinned(2), f); });
    EXPECT_TRUE(f.begun->wait_for(2));
    task.cancel();
    EXPECT_THROW(static_cast<void>(task.get()), cancelled);
    EXPECT_TRUE(other.wait_idle());
  });
}

} // namespace
