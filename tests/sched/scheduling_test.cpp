// How threads of a pool are scheduled and which signals they get, whatever thread caused them.
#include <rubato/future.hpp>
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <csignal>
#include <set>
#include <thread>

#include "support/hang_guard.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/threads.hpp"
#include "support/waiting.hpp"

namespace {

using namespace pool_test;
using rubato_test::hang_guard;
using rubato_test::under_tsan;

struct seen {
  int nice, policy;
  bool segv_blocked, usr1_blocked, term_blocked;
  bool operator==(seen const&) const = default;
};

seen this_thread() {
  sigset_t mask;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return {::getpriority(PRIO_PROCESS, 0), ::sched_getscheduler(0), sigismember(&mask, SIGSEGV) == 1,
          sigismember(&mask, SIGUSR1) == 1, sigismember(&mask, SIGTERM) == 1};
}

/// Of the process's first pool, which may be of another test.
int nice_of_the_first_pool() {
  rubato::pool pool(1);
  return pool.broadcast([] { return ::getpriority(PRIO_PROCESS, 0); }).front();
}

/// Runs f on a thread of lower priority and of another class, with SIGSEGV blocked and SIGUSR1 not.
template<class F>
void run_on_an_odd_thread(F f) {
  std::thread([&] {
    ASSERT_EQ(::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + 3), 0);
    sched_param const none{};
    ASSERT_EQ(::sched_setscheduler(0, SCHED_BATCH, &none), 0);
    sigset_t segv;
    sigemptyset(&segv);
    sigaddset(&segv, SIGSEGV);
    ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &segv, nullptr), 0);
    f();
  }).join();
}

TEST(scheduling_of_threads, regression_workers_do_not_take_after_the_thread_that_makes_the_pool) {
  hang_guard const guard;
  seen const ordinary{nice_of_the_first_pool(), SCHED_OTHER, false, true, true};
  run_on_an_odd_thread([&] {
    rubato::pool pool(3);
    for (seen const& s : pool.broadcast(this_thread)) EXPECT_EQ(s, ordinary);
    pool.resize(5);
    for (seen const& s : pool.broadcast(this_thread)) EXPECT_EQ(s, ordinary);
    seen const mine = this_thread(); // the caller is left as it was
    EXPECT_TRUE(mine.segv_blocked);
    EXPECT_FALSE(mine.usr1_blocked);
  });
}

TEST(scheduling_of_threads, regression_nor_a_spare_after_the_worker_that_blocks) {
  hang_guard const guard;
  seen const ordinary{nice_of_the_first_pool(), SCHED_OTHER, false, true, true};
  rubato::pool pool(1);
  seen spare{};
  pool.spawn([&] {
        ASSERT_EQ(::setpriority(PRIO_PROCESS, 0, ordinary.nice + 3), 0);
        gate opened;
        pool.enqueue([&] {
          spare = this_thread();
          opened.open();
        });
        rubato::blocking([&] { EXPECT_TRUE(opened.wait()); });
      })
      .get();
  EXPECT_EQ(spare, ordinary);
}

// Where only one CPU may be used, these say nothing.
TEST(scheduling_of_threads, regression_a_spare_may_run_where_the_pool_may_though_a_pinned_worker_makes_it) {
  hang_guard const guard;
  auto const usable = cpus_of_this_thread();
  rubato::pool pool(1);
  std::set<int> spares;
  pool.spawn([&] {
        ASSERT_TRUE(restrict_this_thread_to(*usable.begin()));
        gate opened;
        pool.enqueue([&] {
          spares = cpus_of_this_thread();
          opened.open();
        });
        rubato::blocking([&] { EXPECT_TRUE(opened.wait()); });
      })
      .get();
  EXPECT_EQ(spares, usable);
}

TEST(scheduling_of_threads,
     regression_new_workers_may_run_where_the_pool_may_though_a_pinned_thread_resizes_it) {
  hang_guard const guard;
  auto const usable = cpus_of_this_thread();
  rubato::pool pool(1);
  std::thread([&] {
    ASSERT_TRUE(restrict_this_thread_to(*usable.rbegin()));
    pool.resize(3);
  }).join();
  for (auto const& cpus : pool.broadcast(cpus_of_this_thread)) EXPECT_EQ(cpus, usable);
}

TEST(scheduling_of_threads, regression_workers_stay_where_their_pool_was_made) {
  hang_guard const guard;
  std::thread([] {
    int const cpu = *cpus_of_this_thread().begin();
    ASSERT_TRUE(restrict_this_thread_to(cpu));
    rubato::pool pool(2);
    for (auto const& cpus : pool.broadcast(cpus_of_this_thread)) EXPECT_EQ(cpus, std::set{cpu});
  }).join();
}

TEST(scheduling_of_threads,
     regression_the_monitor_may_run_where_the_process_may_though_a_pinned_thread_makes_the_first_pool) {
  if (under_tsan) GTEST_SKIP() << "ThreadSanitizer does not follow a fork";
  hang_guard const guard;
  auto const usable = cpus_of_this_thread();
  int const child = ::fork(); // its first pool starts a monitor of its own
  ASSERT_GE(child, 0);
  if (child == 0) {
    kill_this_process_if_it_hangs();
    std::set<int> cpus;
    std::thread([&] {
      if (!restrict_this_thread_to(*usable.begin())) return;
      rubato::pool pool(1);
      eventually([&] { // it takes its CPUs when it begins
        for (int const id : thread_ids())
          if (name_of_thread(id) == "rubato/monitor") cpus = cpus_of_thread(id);
        return cpus == usable;
      });
    }).join();
    leave(cpus == usable, "the monitor has the CPUs of the process");
  }
  EXPECT_EQ(wait_for_child(child), 0);
}

TEST(scheduling_of_threads, regression_unless_an_option_says_so) {
  hang_guard const guard;
  static_cast<void>(nice_of_the_first_pool());
  run_on_an_odd_thread([&] {
    rubato::pool pool(rubato::pool_options().workers(2).inherit_scheduling());
    seen const mine = this_thread();
    for (seen const& s : pool.broadcast(this_thread)) EXPECT_EQ(s, mine);
  });
}

TEST(scheduling_of_threads, regression_pools_that_odd_threads_make_and_end_at_once) {
  hang_guard const guard;
  for (int round = 0; round != 30; ++round)
    run_on_an_odd_thread([&] {
      std::atomic<int> ran = 0;
      rubato::pool pool(4);
      for (int i = 0; i != 8; ++i) pool.enqueue([&] { ++ran; });
      if (round % 2 == 0) {
        pool.shutdown();
        EXPECT_EQ(ran, 8);
      }
    });
}

} // namespace
