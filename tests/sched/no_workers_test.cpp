// A pool without workers: work waits until a thread drives it, and a thread that waits for the pool does.
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <rubato/scope.hpp>
#include <stdexcept>
#include <thread>

#include "os/thread.hpp"
#include "support/counting.hpp"
#include "support/threads.hpp"
#include "support/trees.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

TEST(without_workers, enqueued_work_waits) {
  rubato::pool(1).wait_idle(); // the monitor, one for all pools, may stay
  rubato::pool pool(rubato::no_workers);
  auto const before = thread_ids();
  std::atomic<int> ran = 0;
  for (int i = 0; i < 100; ++i) pool.enqueue([&] { ++ran; });
  std::this_thread::sleep_for(20ms); // time for a faulty pool to run one
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(pool.pending(), 100u);
  for (int id : thread_ids()) EXPECT_TRUE(before.contains(id)) << "enqueue started a thread";
  pool.shutdown(rubato::discard);
}

TEST(without_workers, wait_idle_runs_everything_on_its_thread) {
  rubato::pool pool(rubato::no_workers);
  auto const me = std::this_thread::get_id();
  int ran = 0, elsewhere = 0, outside = 0;
  for (int i = 0; i < 100; ++i) {
    pool.enqueue([&] {
      ++ran;
      elsewhere += std::this_thread::get_id() != me;
      outside += rubato::current_pool() != &pool || !rubato::current_worker();
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 100);
  EXPECT_EQ(elsewhere, 0);
  EXPECT_EQ(outside, 0);
  EXPECT_EQ(rubato::current_pool(), nullptr);
}

TEST(without_workers, resize_runs_everything_on_workers) {
  rubato::pool pool(rubato::no_workers);
  auto const me = std::this_thread::get_id();
  std::atomic<int> ran = 0, here = 0;
  for (int i = 0; i < 100; ++i) {
    pool.enqueue([&] {
      here += std::this_thread::get_id() == me;
      ++ran;
    });
  }
  pool.resize(2);
  EXPECT_TRUE(eventually([&] { return ran == 100; }));
  EXPECT_EQ(here, 0);
}

TEST(without_workers, joins_and_blocking_and_enqueueing_tasks) {
  rubato::pool pool(rubato::no_workers);
  int right = 0;
  for (int i = 0; i < 20; ++i) {
    pool.enqueue([&] {
      right += forked_sum(0, 200) == sum_below(200);
      right += rubato::blocking([] { return 1; });
      pool.enqueue([&] { ++right; });
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(right, 60);
}

TEST(without_workers, run_with_joins_ends_and_loses_no_queued_work) {
  rubato::pool pool(rubato::no_workers);
  tally tasks(50);
  for (std::size_t i = 0; i < 50; ++i) pool.enqueue([&tasks, i] { tasks.hit(i); });
  EXPECT_EQ(pool.run([] { return forked_sum(0, 2'000); }), sum_below(2'000));
  EXPECT_TRUE(pool.wait_idle());
  tasks.expect_each_once();
}

TEST(without_workers, many_threads_may_drive_at_once) {
  rubato::pool pool(rubato::no_workers);
  tally tasks(5'000);
  std::atomic<int> early = 0;
  for (unsigned i = 0; i < 5'000; ++i) pool.enqueue([&tasks, i] { tasks.hit(i); });
  {
    std::jthread drivers[4];
    for (auto& d : drivers) d = std::jthread([&] { early += !pool.wait_idle(); });
  }
  EXPECT_EQ(early, 0);
  tasks.expect_each_once();
}

TEST(without_workers, a_waiting_driver_sees_work_that_comes_later) {
  // The driver has nothing to run, and may not leave: the task that it waits for runs on another driver, and
  // enqueues.
  rubato::pool pool(rubato::no_workers);
  gate opened;
  std::atomic<bool> begun = false, ran = false;
  pool.enqueue([&] {
    begun = true;
    opened.wait();
    pool.enqueue([&] { ran = true; });
  });
  std::jthread first([&] { pool.wait_idle(); });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  std::atomic<bool> early = false;
  std::jthread second([&] {
    pool.wait_idle();
    early = !ran;
  });
  opened.open();
  first.join();
  second.join();
  EXPECT_TRUE(ran);
  EXPECT_FALSE(early);
}

TEST(without_workers, wait_idle_is_relieved_by_a_resize) {
  rubato::pool pool(rubato::no_workers);
  gate opened;
  std::atomic<bool> begun = false;
  pool.enqueue([&] {
    begun = true;
    opened.wait();
  });
  std::jthread const driver([&] { pool.wait_idle(); });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  pool.enqueue([&] { opened.open(); }); // the driver is busy: only a worker can run this
  pool.resize(1);
  EXPECT_TRUE(eventually([&] { return opened.is_open(); }));
}

TEST(without_workers, a_waiter_drives_once_the_last_worker_leaves) {
  for (unsigned round = 0; round < 200; ++round) {
    rubato::pool pool(1);
    std::atomic<int> ran = 0;
    std::jthread waiter;
    for (int i = 0; i < 20; ++i) pool.enqueue([&] { ++ran; });
    waiter = std::jthread([&] { pool.wait_idle(); });
    pool.resize(0);
    waiter.join();
    ASSERT_EQ(ran, 20);
  }
}

TEST(without_workers, a_caller_that_throws_gives_its_seat_back) {
  rubato::pool pool(rubato::no_workers);
  for (unsigned i = 0; i < 2 * pool.slots(); ++i) {
    ASSERT_THROW(pool.run([] { throw std::runtime_error("out"); }), std::runtime_error);
  }
  std::atomic<bool> ran = false;
  pool.enqueue([&] { ran = true; });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(ran);
}

TEST(without_workers, regression_a_driver_sleeps_above_its_own_job) {
  gate spawned, taken, slept;
  std::atomic<rubato::os::thread_id> driver = 0;
  rubato::pool pool(rubato::no_workers);
  rubato::task_group group(pool);
  std::jthread const waiter([&] {
    driver = rubato::os::this_thread_id();
    pool.run([&] {
      rubato::join(
          [&] {
            group.spawn([&] {
              taken.open();
              slept.wait();
            });
            spawned.open();
            EXPECT_TRUE(taken.wait());
            group.wait();
          },
          [] {});
    });
  });
  std::jthread const helper([&] {
    EXPECT_TRUE(spawned.wait());
    pool.run([&] { group.wait(); });
  });
  ASSERT_TRUE(taken.wait());
  // One that spins may be found asleep now and then, where it waits for a lock, but not twenty times in a
  // row.
  EXPECT_TRUE(eventually([&] {
    for (int look = 0; look < 20; ++look) {
      if (rubato::os::state_of(driver) != rubato::os::thread_state::sleeps) return false;
      std::this_thread::sleep_for(500us);
    }
    return true;
  }));
  slept.open();
}

} // namespace
