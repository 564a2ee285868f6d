// No polling: a thread with nothing to do sleeps in the kernel and is not woken, and an event wakes one
// sleeper.
//
// The kernel counts how often a thread was switched; a thread that sleeps, without a timeout, is not switched
// at all. Each test has a process of its own, whose threads are those of its pool and the one that looks.
#include <rubato/join.hpp>
#include <rubato/pool.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <set>
#include <thread>
#include <utility>

#include "support/process.hpp"
#include "support/threads.hpp"
#include "support/trees.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

[[noreturn]] void leave_a_pool_idle(bool used) {
  kill_this_process_if_it_hangs();
  auto const others = threads_that_are_not_the_pools();
  rubato::pool pool(4);
  if (used) {
    for (int i = 0; i < 1'000; ++i) pool.enqueue([] { forked_sum(0, 50); });
    pool.run([] { forked_sum(0, 1'000); });
    pool.broadcast([] {});
    pool.enqueue([] { rubato::blocking([] { std::this_thread::sleep_for(1ms); }); });
  }
  pool.wait_idle();
  leave(become_quiet(others), "an idle pool sleeps");
}

[[noreturn]] void keep_the_only_worker_busy() {
  kill_this_process_if_it_hangs();
  auto others = threads_that_are_not_the_pools();
  rubato::pool pool(1);
  pool.enqueue([] { forked_sum(0, 1'000); });
  pool.wait_idle();
  std::atomic<bool> end = false;
  std::atomic<int> worker = 0;
  pool.enqueue([&] {
    worker = gettid();
    while (!end.load(std::memory_order_relaxed)) {
    }
  });
  eventually([&] { return worker != 0; });
  others.insert(worker); // it computes, and is switched whenever others want the core
  bool const quiet = become_quiet(others);
  end = true;
  pool.wait_idle();
  leave(quiet, "no thread wakes up beside a worker that computes");
}

[[noreturn]] void keep_every_worker_blocked() {
  kill_this_process_if_it_hangs();
  auto const others = threads_that_are_not_the_pools();
  rubato::pool pool(2);
  gate opened;
  std::atomic<int> begun = 0;
  for (int i = 0; i < 4; ++i) {
    pool.enqueue([&] {
      ++begun;
      rubato::blocking([&] { opened.wait(); });
    });
  }
  eventually([&] { return begun == 4; });
  bool const quiet = become_quiet(others);
  opened.open();
  pool.wait_idle();
  leave(quiet, "no thread wakes up while tasks are blocked and nothing is ready");
}

[[noreturn]] void wake_a_large_pool() {
  kill_this_process_if_it_hangs();
  auto const others = threads_that_are_not_the_pools();
  constexpr unsigned workers = 16, events = 40;
  rubato::pool pool(workers);
  auto asleep = [&] {
    auto now = context_switches(others);
    eventually([&] {
      auto const before = std::exchange(now, context_switches(others));
      std::this_thread::sleep_for(5ms);
      now = context_switches(others);
      return now == before;
    });
    return now;
  };
  pool.broadcast([] {});
  unsigned woken = 0;
  for (unsigned event = 0; event < events; ++event) {
    auto const before = asleep();
    pool.enqueue([] {});
    pool.wait_idle();
    for (auto const& [id, count] : asleep()) {
      auto const it = before.find(id);
      woken += it == before.end() || it->second != count;
    }
  }
  std::fprintf(stderr, "%u events woke %u threads\n", events, woken);
  // One each, and one that looks after it perhaps: half of the herd leaves room for strays.
  leave(woken >= 1 && woken <= events * workers / 2, "an event wakes no herd");
}

using threads_of_a_pool = fresh_process;

TEST_F(threads_of_a_pool, sleep_when_it_has_never_been_used) {
  EXPECT_EXIT(leave_a_pool_idle(false), testing::ExitedWithCode(0), "");
}

TEST_F(threads_of_a_pool, sleep_when_it_is_idle_again) {
  EXPECT_EXIT(leave_a_pool_idle(true), testing::ExitedWithCode(0), "");
}

TEST_F(threads_of_a_pool, sleep_beside_a_long_leaf_and_no_latent_job) {
  EXPECT_EXIT(keep_the_only_worker_busy(), testing::ExitedWithCode(0), "");
}

TEST_F(threads_of_a_pool, sleep_while_all_block_and_nothing_is_ready) {
  EXPECT_EXIT(keep_every_worker_blocked(), testing::ExitedWithCode(0), "");
}

TEST_F(threads_of_a_pool, are_not_woken_as_a_herd_by_one_task) {
  EXPECT_EXIT(wake_a_large_pool(), testing::ExitedWithCode(0), "");
}

} // namespace
