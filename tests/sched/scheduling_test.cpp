// How threads of a pool are scheduled and which signals they get, whatever thread caused them.
#include <rubato/future.hpp>
#include <rubato/pool.hpp>
#include <rubato/race.hpp>
#include <rubato/signal_set.hpp>

#include <gtest/gtest.h>

#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/hang_guard.hpp"
#include "support/pools.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/threads.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

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

/// Lower priority, another class, SIGUSR1 blocked and SIGTERM not.
void become_odd() {
  ASSERT_EQ(::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + 3), 0);
  sched_param const none{};
  ASSERT_EQ(::sched_setscheduler(0, SCHED_BATCH, &none), 0);
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &usr1, nullptr), 0);
}

template<class F>
void run_on_an_odd_thread(F f) {
  std::thread([&] {
    become_odd();
    f();
  }).join();
}

/// Whether a thread may lower its nice value again.
bool may_lower_nice() {
  bool may = false;
  run_on_an_odd_thread(
      [&] { may = ::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) - 3) == 0; });
  return may;
}

/// What a thread of a pool is to have that a thread like `starter` started and a thread like `maker` makes.
seen made_by(seen const& maker, seen const& starter) {
  seen wanted = starter;
  if (maker.nice > starter.nice && !may_lower_nice()) wanted.nice = maker.nice;
  return wanted;
}

TEST(scheduling, regression_is_that_of_the_pools_starter) {
  hang_guard const guard;
  run_on_an_odd_thread([&] {
    rubato::pool pool(3);
    seen const starter = this_thread();
    for (seen const& s : pool.broadcast(this_thread)) EXPECT_EQ(s, starter);
    std::thread([&] { pool.resize(5); }).join();
    for (seen const& s : pool.broadcast(this_thread)) EXPECT_EQ(s, starter);
  });
}

TEST(scheduling, regression_is_not_that_of_a_resizing_thread) {
  hang_guard const guard;
  seen const starter = this_thread();
  rubato::pool pool(1);
  EXPECT_EQ(pool.broadcast(this_thread).front(), starter);
  run_on_an_odd_thread([&] {
    seen const mine = this_thread();
    pool.resize(4);
    auto const all = pool.broadcast(this_thread);
    for (std::size_t i = 1; i != all.size(); ++i) EXPECT_EQ(all[i], made_by(mine, starter));
    EXPECT_EQ(this_thread(), mine); // the maker is left as it was
  });
}

TEST(scheduling, regression_of_a_spare_is_not_its_workers) {
  hang_guard const guard;
  seen const starter = this_thread();
  rubato::pool pool(1);
  seen odd{}, spare{};
  pool.spawn([&] {
        become_odd();
        odd = this_thread();
        gate opened;
        pool.enqueue([&] {
          spare = this_thread();
          opened.open();
        });
        rubato::blocking([&] { EXPECT_TRUE(opened.wait()); });
      })
      .get();
  EXPECT_EQ(spare, made_by(odd, starter));
}

TEST(scheduling, regression_of_relief_is_that_of_the_pools_starter) {
  hang_guard const guard;
  run_on_an_odd_thread([] {
    seen const starter = this_thread();
    rubato::pool pool(1);
    gate begun, opened;
    seen relief{};
    pool.enqueue([&] {
      begun.open();
      EXPECT_TRUE(opened.wait()); // the monitor makes the thread
    });
    ASSERT_TRUE(begun.wait());
    pool.enqueue([&] {
      relief = this_thread();
      opened.open();
    });
    pool.wait_idle();
    EXPECT_EQ(relief, starter);
  });
}

TEST(scheduling, regression_of_copies_is_that_of_the_pools_starter) {
  hang_guard const guard;
  rubato::pool pool(1);
  seen const starter = this_thread();
  run_on_an_odd_thread([&] {
    std::mutex mutex;
    std::vector<seen> copies;
    rendezvous meeting(3);
    rubato::race(pool, rubato::race_options().runners(3).pin(false), [&](std::stop_token const&) {
      EXPECT_TRUE(meeting.meet()); // the caller, the worker and a spare
      std::lock_guard const lock(mutex);
      copies.push_back(this_thread());
    });
    EXPECT_EQ(std::ranges::count(copies, this_thread()), 1);
    EXPECT_GE(std::ranges::count(copies, starter), 1);
    EXPECT_EQ(copies.size(), 3U);
  });
}

TEST(scheduling, regression_without_workers_is_that_of_the_resizer) {
  hang_guard const guard;
  rubato::pool pool(rubato::no_workers);
  pool.enqueue([] {});
  pool.wait_idle();
  run_on_an_odd_thread([&] {
    pool.resize(2);
    for (seen const& s : pool.broadcast(this_thread)) EXPECT_EQ(s, this_thread());
  });
}

TEST(scheduling, regression_is_recorded_anew_at_another_start) {
  hang_guard const guard;
  rubato::pool pool(2);
  pool.shutdown();
  run_on_an_odd_thread([&] {
    pool.resize(2);
    for (seen const& s : pool.broadcast(this_thread)) EXPECT_EQ(s, this_thread());
  });
}

TEST(scheduling, regression_is_recorded_anew_in_a_forked_child) {
  if (under_tsan) GTEST_SKIP() << "ThreadSanitizer does not follow a fork";
  hang_guard const guard;
  rubato::pool pool(2);
  pool.wait_idle();
  int const child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    kill_this_process_if_it_hangs();
    become_odd();
    bool same = true;
    for (seen const& s : pool.broadcast(this_thread)) same = same && s == this_thread();
    leave(same, "the child's threads are like the thread that used the pool first");
  }
  EXPECT_EQ(wait_for_child(child), 0);
}

volatile std::sig_atomic_t handled = 0;

TEST(scheduling, regression_thread_makers_get_no_blocked_signal) {
  hang_guard const guard;
  handled = 0;
  auto const old = ::signal(SIGUSR1, [](int) { handled = handled + 1; });
  rubato::pool pool(1);
  run_on_an_odd_thread([&] {
    ASSERT_EQ(::raise(SIGUSR1), 0);
    pool.resize(8);
    EXPECT_EQ(handled, 0);
    sigset_t none;
    sigemptyset(&none);
    ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &none, nullptr), 0);
    EXPECT_EQ(handled, 1);
  });
  ::signal(SIGUSR1, old);
}

/// The signals that a thread of this process blocks, a bit each.
std::uint64_t blocked_by_thread(int id) {
  std::ifstream status("/proc/self/task/" + std::to_string(id) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigBlk:")) return std::stoull(line.substr(7), nullptr, 16);
  return 0;
}

TEST(scheduling, service_threads_block_signals) {
  hang_guard const guard;
  rubato::pool pool(1);
  rubato::signal_set const caught(SIGUSR1); // starts the reactor, and its standby
  for (std::string const service : {"rubato/io", "rubato/monitor"}) {
    int found = 0;
    EXPECT_TRUE(eventually([&] { // it takes its name when it begins
      for (int const id : thread_ids())
        if (name_of_thread(id) == service) found = id;
      return found != 0;
    })) << service;
    for (int const signal : {SIGTERM, SIGINT, SIGUSR1, SIGALRM, SIGPROF})
      EXPECT_EQ(blocked_by_thread(found) >> (signal - 1) & 1U, 1U) << service << ", signal " << signal;
  }
}

class signal_in_a_task : public fresh_process {};

TEST_F(signal_in_a_task, regression_has_its_default_action) {
  EXPECT_EXIT(
      {
        kill_this_process_if_it_hangs();
        rubato::pool pool(2);
        pool.enqueue([] { std::raise(SIGTERM); });
        pool.wait_idle();
        std::_Exit(0);
      },
      testing::KilledBySignal(SIGTERM), "");
}

class child_of_a_task : public rubato_test::on_workers {};
RUBATO_TEST_WITH_WORKERS(child_of_a_task, all_counts);

TEST_P(child_of_a_task, regression_is_ended_by_a_signal) {
  auto const started = [] {
    pid_t child = -1;
    char name[] = "sleep", much[] = "1000";
    char* const arguments[] = {name, much, nullptr};
    EXPECT_EQ(::posix_spawnp(&child, "sleep", nullptr, nullptr, arguments, environ), 0);
    return child;
  };
  for (int const signal : {SIGTERM, SIGUSR2}) { // a shell may have had SIGINT ignored
    pid_t const child = pool.spawn(started).get();
    ASSERT_EQ(::kill(child, signal), 0);
    EXPECT_EQ(wait_for_child(child), -signal);
  }
}

// Where only one CPU may be used, these say nothing.
TEST(scheduling, regression_a_pinned_worker_makes_unpinned_spares) {
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

TEST(scheduling, regression_a_pinned_thread_adds_unpinned_workers) {
  hang_guard const guard;
  auto const usable = cpus_of_this_thread();
  rubato::pool pool(1);
  std::thread([&] {
    ASSERT_TRUE(restrict_this_thread_to(*usable.rbegin()));
    pool.resize(3);
  }).join();
  for (auto const& cpus : pool.broadcast(cpus_of_this_thread)) EXPECT_EQ(cpus, usable);
}

TEST(scheduling, regression_workers_stay_where_their_pool_was_made) {
  hang_guard const guard;
  std::thread([] {
    int const cpu = *cpus_of_this_thread().begin();
    ASSERT_TRUE(restrict_this_thread_to(cpu));
    rubato::pool pool(2);
    for (auto const& cpus : pool.broadcast(cpus_of_this_thread)) EXPECT_EQ(cpus, std::set{cpu});
  }).join();
}

TEST(scheduling, regression_a_pinned_thread_makes_a_free_monitor) {
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

TEST(scheduling, regression_pools_of_odd_threads_end_at_once) {
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
