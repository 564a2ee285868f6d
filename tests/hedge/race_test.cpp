// race() and hedge(): results, failures, threads, options and the report. What is the same for both runs for
// both.
#include <gtest/gtest.h>

#include "hedge/calls.hpp"
#include "sched/core/pool_core.hpp"
#include "support/hang_guard.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

#include <rubato/race.hpp>
#include <rubato/rubato.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <sched.h>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::race_options;
using rubato::race_report;
using outcome = race_report::outcome;

namespace {

class hedged_calls : public on_workers {};
RUBATO_TEST_WITH_WORKERS(hedged_calls, all_counts);

TEST_P(hedged_calls, run_all_copies_at_once_with_any_worker_count) {
  for_both([&](auto const& call) {
    for (unsigned const n : {1U, 2U, 8U}) {
      auto const all = std::make_shared<rendezvous>(n);
      EXPECT_TRUE(call(pool, unpinned(n), [all] { return all->meet(); })) << n;
    }
  });
}
TEST_P(hedged_calls, run_all_copies_at_once_in_a_task) {
  pool.run([&] {
    for_both([&](auto const& call) {
      auto const all = std::make_shared<rendezvous>(8);
      EXPECT_TRUE(call(unpinned(8), [all] { return all->meet(); }));
    });
  });
}
TEST_P(hedged_calls, run_beside_workers_that_are_all_busy) {
  busy_workers const busy(pool, GetParam());
  for_both([&](auto const& call) {
    auto const all = std::make_shared<rendezvous>(3);
    EXPECT_TRUE(call(pool, unpinned(3), [all] { return all->meet(); }));
  });
}
TEST_P(hedged_calls, return_results_of_every_kind) {
  for_both([&](auto const& call) {
    struct no_default {
      int n;
      explicit no_default(int v)
          : n(v) {}
      no_default(no_default&&) = default;
    };
    static int const there = 5;
    EXPECT_EQ(call(pool, [] { return 7; }), 7);
    EXPECT_EQ(*call(pool, [] { return std::make_unique<int>(8); }), 8);
    EXPECT_EQ(call(pool, [] { return no_default(9); }).n, 9);
    EXPECT_EQ(&call(pool, []() -> int const& { return there; }), &there);
    EXPECT_EQ(call(pool, [] { return std::string(1000, 'x'); }).size(), 1000U);
    static_assert(std::is_void_v<decltype(call(pool, [] {}))>);
    call(pool, [] {});
  });
}
TEST_P(hedged_calls, flatten_tasks_and_futures) {
  for_both([&](auto const& call) {
    EXPECT_EQ(call(pool, []() -> rubato::task<int> { co_return 3; }), 3);
    EXPECT_EQ(call(pool, [] { return rubato::spawn([] { return 4; }); }), 4);
  });
}
TEST_P(hedged_calls, call_a_const_function_with_a_token_if_wanted) {
  struct counts {
    std::shared_ptr<std::atomic<int>> with = std::make_shared<std::atomic<int>>(0);
    int operator()(std::stop_token t) const { return t.stop_possible() ? ++*with : -1000; }
    int operator()() const { return -1000; }
  };
  for_both([&](auto const& call) { EXPECT_GT(call(pool, counts()), 0); });
}
TEST_P(hedged_calls, let_a_copy_win_while_another_one_throws) {
  for_both([&](auto const& call) {
    auto const next = std::make_shared<std::atomic<int>>(0);
    auto const all = std::make_shared<rendezvous>(3);
    race_report report;
    EXPECT_EQ(call(pool, unpinned(3).report(&report),
                   [=] {
                     EXPECT_TRUE(all->meet());
                     if (next->fetch_add(1) != 1) throw std::runtime_error("one of them");
                     return 1;
                   }),
              1);
    ASSERT_TRUE(report.winner.has_value());
    EXPECT_EQ(report.copies.at(*report.winner).what, outcome::returned);
  });
}
TEST_P(hedged_calls, throw_what_the_first_copy_threw_if_all_threw) {
  for_both([&](auto const& call) {
    auto const all = std::make_shared<rendezvous>(4);
    race_report report;
    struct failure {
      std::thread::id where;
    };
    try {
      call(pool, unpinned(4).report(&report), [=]() -> int {
        EXPECT_TRUE(all->meet());
        throw failure{std::this_thread::get_id()};
      });
      ADD_FAILURE() << "did not throw";
    } catch (failure const& f) {
      if (std::is_same_v<decltype(call), decltype(rubato::race) const&>) {
        EXPECT_EQ(f.where, std::this_thread::get_id()); // the caller of a race runs the first copy
      }
    }
    EXPECT_FALSE(report.winner.has_value());
    ASSERT_EQ(report.copies.size(), 4U);
    for (auto const& c : report.copies) EXPECT_EQ(c.what, outcome::threw);
  });
}
TEST_P(hedged_calls, run_within_each_other_and_within_joins) {
  for_both([&](auto const& call) {
    auto const inner = [&pool = pool, &call](int n) {
      auto const all = std::make_shared<arrivals>();
      return call(pool, unpinned(2), [all, n](std::stop_token stop) {
        // If the outer copy loses, the inner call is stopped, perhaps before its other copy has begun.
        all->arrive();
        EXPECT_TRUE(rubato_test::eventually([&] { return all->count() == 2 || stop.stop_requested(); }));
        return n;
      });
    };
    EXPECT_EQ(pool.run([&] {
      auto [a, b] = rubato::join([&] { return inner(1); },
                                 [&] { return rubato::race(pool, unpinned(2), [&] { return inner(20); }); });
      return a + b;
    }),
              21);
  });
}
TEST_P(hedged_calls, may_fork_and_spawn) {
  for_both([&](auto const& call) {
    EXPECT_EQ(call(pool, unpinned(2),
                   [] {
                     auto [a, b] =
                         rubato::join([] { return 1; }, [] { return rubato::spawn([] { return 2; }).get(); });
                     return a + b;
                   }),
              3);
  });
}
TEST_P(hedged_calls, refuse_no_copies_and_too_many) {
  for_both([&](auto const& call) {
    EXPECT_THROW(call(pool, race_options().runners(0), [] {}), std::invalid_argument);
    EXPECT_THROW(call(pool, race_options().runners(1025), [] {}), std::invalid_argument);
    EXPECT_THROW(call(pool, race_options().cpus({1 << 19}), [] {}), std::invalid_argument);
    EXPECT_THROW(call(pool, race_options().cpus({-1}), [] {}), std::invalid_argument);
  });
}
TEST_P(hedged_calls, report_one_copy) {
  for_both([&](auto const& call) {
    race_report report;
    EXPECT_EQ(call(pool, unpinned(1).report(&report), [] { return 2; }), 2);
    EXPECT_EQ(report.asked, 1U);
    ASSERT_EQ(report.copies.size(), 1U);
    EXPECT_EQ(report.winner, 0U);
    EXPECT_EQ(report.copies[0].what, outcome::returned);
    EXPECT_LE(report.copies[0].began, report.copies[0].ended);
    EXPECT_GE(report.copies[0].cpu, 0);
    EXPECT_FALSE(report.copies[0].pinned);
  });
}

TEST_P(hedged_calls, pin_each_copy_to_a_cpu_of_its_own_and_undo_that) {
  auto const before = own_cpus();
  for_both([&](auto const& call) {
    race_report report;
    auto const n = static_cast<unsigned>(before.size());
    auto const all = std::make_shared<rendezvous>(n);
    EXPECT_TRUE(call(pool, race_options().runners(n).report(&report), [all] {
      bool const met = all->meet();
      return met && own_cpus().size() == 1;
    }));
    EXPECT_EQ(own_cpus(), before);
    std::vector<int> used;
    for (auto const& c : report.copies) {
      EXPECT_TRUE(c.pinned);
      used.push_back(c.cpu);
    }
    std::sort(used.begin(), used.end());
    EXPECT_EQ(used, before);
  });
  // Threads that have run copies are free again when they run tasks.
  for (unsigned i = 0; i != 4 * GetParam(); ++i)
    EXPECT_EQ(pool.spawn([] { return own_cpus(); }).get(), before);
}
TEST_P(hedged_calls, have_no_more_copies_than_cpus_when_pinned) {
  auto const n = own_cpus().size();
  for_both([&](auto const& call) {
    race_report report;
    call(pool, race_options().runners(static_cast<unsigned>(n) + 3).report(&report), [] {});
    EXPECT_EQ(report.asked, n + 3);
    EXPECT_EQ(report.copies.size(), n);
  });
}
TEST_P(hedged_calls, use_the_given_cpus) {
  auto const cpus = own_cpus();
  for_both([&](auto const& call) {
    race_report report;
    auto const all = std::make_shared<rendezvous>(2);
    call(pool, race_options().runners(9).cpus({cpus.back(), cpus.back()}).report(&report),
         [all] { EXPECT_TRUE(all->meet()); });
    ASSERT_EQ(report.copies.size(), 2U);
    EXPECT_EQ(report.copies[0].cpu, cpus.back());
    EXPECT_EQ(report.copies[1].cpu, cpus.back());
  });
  EXPECT_EQ(own_cpus(), cpus);
}
TEST_P(hedged_calls, pin_to_different_cpus_in_any_order_of_nodes) {
  auto const cpus = own_cpus();
  for (bool const cross : {true, false})
    for_both([&](auto const& call) {
      race_report report;
      auto const n = static_cast<unsigned>(cpus.size());
      auto const all = std::make_shared<rendezvous>(n);
      EXPECT_TRUE(call(pool, race_options().runners(n).prefer_cross_numa(cross).report(&report),
                       [all] { return all->meet() && own_cpus().size() == 1; }));
      std::vector<int> used;
      for (auto const& c : report.copies) used.push_back(c.cpu);
      std::sort(used.begin(), used.end());
      EXPECT_EQ(used, cpus);
    });
}
TEST_P(hedged_calls, ignore_given_cpus_when_unpinned) {
  auto const cpus = own_cpus();
  for_both([&](auto const& call) {
    race_report report;
    auto const all = std::make_shared<rendezvous>(3);
    EXPECT_TRUE(call(pool, unpinned(3).cpus({cpus.back()}).report(&report),
                     [all, cpus] { return all->meet() && own_cpus() == cpus; }));
    ASSERT_EQ(report.copies.size(), 3U);
    for (auto const& c : report.copies) EXPECT_FALSE(c.pinned);
  });
}
TEST_P(hedged_calls, have_one_copy_where_one_cpu_is_usable) {
  auto const before = own_cpus();
  std::thread([&, workers = GetParam()] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(before[0]), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    rubato::pool narrow(rubato_test::with_workers(workers));
    for_both([&](auto const& call) {
      race_report report;
      EXPECT_EQ(call(narrow, race_options().report(&report), [] { return 1; }), 1);
      ASSERT_EQ(report.copies.size(), 1U);
      EXPECT_EQ(report.copies[0].cpu, before[0]);
      auto const all = std::make_shared<rendezvous>(2); // and as many as one likes, unpinned
      EXPECT_TRUE(call(narrow, unpinned(2), [all] { return all->meet(); }));
    });
  }).join();
}
TEST_P(hedged_calls, make_no_thread_per_call) {
  for_both([&](auto const& call) {
    for (std::size_t i = 0; i != scaled(200); ++i) {
      auto const all = std::make_shared<rendezvous>(3);
      EXPECT_TRUE(call(pool, unpinned(3), [all] { return all->meet(); }));
      EXPECT_TRUE(
          pool.wait_idle(20s)); // the threads that have ended a copy are idle when the next call begins
    }
  });
  EXPECT_LE(pool.stats().spares, 3U);
}
TEST_P(hedged_calls, give_one_result_however_often) {
  std::atomic<int> calls{0};
  for_both([&](auto const& call) {
    for (std::size_t i = 0; i != scaled(2'000); ++i)
      EXPECT_EQ(call(pool, unpinned(2), [i, &calls] { return ++calls, i; }), i);
  });
  EXPECT_TRUE(pool.wait_idle()); // losers refer to `calls`
}
TEST_P(hedged_calls, come_from_many_threads_at_once) {
  std::vector<std::thread> callers;
  for (int t = 0; t != 4; ++t)
    callers.emplace_back([&, t] {
      for (std::size_t i = 0; i != scaled(300); ++i) {
        EXPECT_EQ(rubato::race(pool, unpinned(2), [&] { return t; }), t);
        EXPECT_EQ(rubato::hedge(pool, unpinned(2), [t] { return t; }), t);
      }
    });
  for (auto& c : callers) c.join();
}

TEST(pinned_races, regression_leave_each_worker_on_its_seats_cpu) {
  auto const cpus = own_cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "there is one CPU";
  hang_guard const guard;
  rubato::pool pool(rubato::pool_options().workers(2).cpus({cpus[0], cpus[1]}));
  rubato::promise<void> end;
  auto ended = end.get_future();
  milestone other_begun, racing, next_begun;
  std::atomic<bool> other_over{false}, over{false};
  auto other = pool.spawn([&] {
    other_begun.reach();
    EXPECT_TRUE(computing_until([&] { return other_over.load(); }));
  });
  EXPECT_TRUE(other_begun.wait());
  auto racer = pool.spawn([&] {
    auto const mine = own_cpus();
    int const elsewhere = mine.front() == cpus[0] ? cpus[1] : cpus[0];
    rubato::race(race_options().runners(1).cpus({elsewhere}), [&] {
      racing.reach();
      ended.get(); // leaves its seat, which the next task's thread takes
    });
    // It sits where the task before did, unless that one's thread still looks for another task there.
    auto const* const sits_on = rubato::detail::thread_of(*rubato::detail::current).sits_on();
    EXPECT_TRUE(sits_on == nullptr || own_cpus() == std::vector{sits_on->cpu});
    over = true;
  });
  EXPECT_TRUE(racing.wait());
  auto next = pool.spawn([&] {
    next_begun.reach();
    EXPECT_TRUE(computing_until([&] { return over.load(); }));
  });
  EXPECT_TRUE(next_begun.wait());
  other_over = true;
  other.get();
  std::this_thread::sleep_for(rubato_test::until_others_sleep);
  end.set_value();
  racer.get();
  next.get();
}

TEST(hedged_calls_without_spares, run_on_what_there_is) {
  hang_guard const guard;
  rubato::pool pool(rubato::pool_options().workers(1).spares(0));
  race_report of_race, of_hedge;
  EXPECT_EQ(pool.spawn([&] {
                  return rubato::race(unpinned(3).report(&of_race), [] { return 1; }) +
                         rubato::hedge(unpinned(3).report(&of_hedge), [] { return 20; });
                })
                .get(),
            21);
  for (auto const* const report : {&of_race, &of_hedge}) {
    ASSERT_EQ(report->copies.size(), 3U);
    EXPECT_TRUE(report->copies[0].on_caller); // the only worker is the caller
    EXPECT_EQ(report->winner, 0U);
    EXPECT_FALSE(report->copies[1].on_caller);
  }
}

class races : public on_workers {};
RUBATO_TEST_WITH_WORKERS(races, all_counts);

TEST_P(races, return_after_their_losers_and_may_borrow_the_frame) {
  for (std::size_t i = 0; i != scaled(300); ++i) {
    std::atomic<int> inside{0}, stopped{0};
    std::atomic<bool> won{false};
    rendezvous both(2);
    rubato::race(pool, unpinned(2), [&](std::stop_token stop) {
      ++inside;
      EXPECT_TRUE(both.meet());
      if (won.exchange(true)) {
        while (!stop.stop_requested()) std::this_thread::yield();
        ++stopped;
      }
      --inside;
    });
    EXPECT_EQ(inside, 0);
    EXPECT_EQ(stopped, 1);
  }
}
TEST_P(races, destroy_the_losers_results_before_they_return) {
  std::atomic<int> alive{0};
  struct counted {
    std::atomic<int>* n;
    explicit counted(std::atomic<int>& c)
        : n(&c) {
      ++*n;
    }
    counted(counted&& other) noexcept
        : n(other.n) {
      ++*n;
    }
    ~counted() { --*n; }
  };
  for (std::size_t i = 0; i != scaled(300); ++i) {
    rendezvous both(2);
    {
      counted const result = rubato::race(pool, unpinned(2), [&] {
        EXPECT_TRUE(both.meet());
        return counted(alive);
      });
      EXPECT_EQ(alive, 1);
    }
    EXPECT_EQ(alive, 0);
  }
}
TEST_P(races, run_the_first_copy_on_the_caller) {
  auto const me = std::this_thread::get_id();
  std::atomic<int> here{0};
  rendezvous both(2);
  race_report report;
  rubato::race(pool, unpinned(2).report(&report), [&] {
    EXPECT_TRUE(both.meet());
    if (std::this_thread::get_id() == me) ++here;
  });
  EXPECT_EQ(here, 1);
  EXPECT_TRUE(report.copies.at(0).on_caller);
  EXPECT_FALSE(report.copies.at(1).on_caller);
}
TEST_P(races, do_not_begin_what_was_withdrawn) {
  std::atomic<int> begun{0}, over{0};
  for (std::size_t i = 0; i != scaled(2'000); ++i) {
    over = 0;
    rubato::race(pool, unpinned(2), [&] {
      ++begun;
      EXPECT_EQ(over, 0);
    });
    over = 1;
  }
  EXPECT_GE(begun, static_cast<int>(scaled(2'000)));
}

} // namespace
