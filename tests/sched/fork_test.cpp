// fork: in the child a pool is empty, and starts again with its first use.
#include <rubato/join.hpp>
#include <rubato/pool.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "support/counting.hpp"
#include "support/forked_child.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/trees.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

/// Runs `work` in a child made by fork alone; its result is the exit status of the child, which ends as
/// programs do.
template<class F>
int in_forked_child(F&& work) {
  return wait_for_child(begin_forked_child([&] { std::exit(work()); }));
}

bool works(rubato::pool& pool) {
  std::atomic<int> ran = 0;
  for (int i = 0; i < 100; ++i) pool.enqueue([&] { ++ran; });
  return pool.wait_idle() && ran == 100 && pool.run([] { return forked_sum(0, 500); }) == sum_below(500);
}

/// ThreadSanitizer supports no threads in the child of a process that has some.
class process_fork : public testing::Test {
protected:
  void SetUp() override {
    if (under_tsan) GTEST_SKIP() << "ThreadSanitizer does not follow a fork";
  }
};

TEST_F(process_fork, leaves_a_pool_in_the_child_that_works) {
  rubato::pool pool(3);
  ASSERT_TRUE(works(pool));
  EXPECT_EQ(in_forked_child([&] { return works(pool) && works(pool) ? 0 : 1; }), 0);
  EXPECT_TRUE(works(pool)) << "the parent is not disturbed";
}

TEST_F(process_fork, leaves_an_unused_pool_in_the_child_that_works) {
  rubato::pool pool;
  EXPECT_EQ(in_forked_child([&] { return works(pool) ? 0 : 1; }), 0);
  EXPECT_TRUE(works(pool));
}

TEST_F(process_fork, leaves_the_child_a_global_pool_that_works) {
  ASSERT_TRUE(works(rubato::pool::global()));
  EXPECT_EQ(in_forked_child([] {
              if (!works(rubato::pool::global())) return 1;
              static std::atomic<int> done = 0;
              for (int i = 0; i < 20; ++i) {
                rubato::enqueue([] {
                  std::this_thread::sleep_for(100us);
                  // Were the last of them lost at the exit, the status would stay what it was: see below.
                  if (++done == 20) std::_Exit(0);
                });
              }
              return 2;
            }),
            0);
}

TEST_F(process_fork, leaves_the_number_of_workers_as_it_was) {
  rubato::pool pool(3);
  ASSERT_TRUE(works(pool));
  EXPECT_EQ(in_forked_child([&] {
              rendezvous all(3);
              std::atomic<int> met = 0;
              for (int i = 0; i < 3; ++i) pool.enqueue([&] { met += all.meet(); });
              pool.wait_idle();
              return met == 3 && pool.size() == 3 ? 0 : 1;
            }),
            0);
}

TEST_F(process_fork, hides_the_parents_queued_work_from_the_child) {
  std::atomic<int> ran = 0;
  gate opened;
  std::atomic<bool> begun = false;
  rubato::pool pool(rubato::pool_options().workers(1).spares(0));
  pool.enqueue([&] {
    begun = true;
    opened.wait();
  });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  for (int i = 0; i < 10; ++i) pool.enqueue([&] { ++ran; });
  EXPECT_EQ(in_forked_child([&] {
              if (pool.pending() != 0) return 1;
              if (!works(pool)) return 2;
              return ran == 0 ? 0 : 3;
            }),
            0);
  EXPECT_EQ(ran, 0);
  opened.open();
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 10) << "the parent keeps its work";
}

TEST_F(process_fork, without_workers_hides_queued_work_too) {
  int ran = 0;
  rubato::pool pool(rubato::no_workers);
  for (int i = 0; i < 10; ++i) pool.enqueue([&] { ++ran; });
  EXPECT_EQ(in_forked_child([&] { return pool.pending() == 0 && pool.wait_idle() && ran == 0 ? 0 : 1; }), 0);
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 10);
}

TEST_F(process_fork, lets_the_child_resize_and_destroy_the_pool) {
  auto pool = std::make_unique<rubato::pool>(3);
  ASSERT_TRUE(works(*pool));
  EXPECT_EQ(in_forked_child([&] {
              pool.reset();
              return 0;
            }),
            0);
  EXPECT_EQ(in_forked_child([&] {
              pool->shutdown();
              pool->resize(2);
              return works(*pool) ? 0 : 1;
            }),
            0);
  EXPECT_EQ(in_forked_child([&] {
              pool->resize(5);
              bool const good = works(*pool) && pool->size() == 5;
              pool.reset();
              return good ? 0 : 1;
            }),
            0);
}

TEST_F(process_fork, lets_the_child_exit_without_use_of_the_pool) {
  rubato::pool pool(2);
  ASSERT_TRUE(works(pool));
  EXPECT_EQ(in_forked_child([] { return 0; }), 0);
}

TEST_F(process_fork, lets_the_child_fork_again) {
  rubato::pool pool(2);
  ASSERT_TRUE(works(pool));
  EXPECT_EQ(in_forked_child([&] {
              if (!works(pool)) return 1;
              int const status = in_forked_child([&] { return works(pool) ? 0 : 2; });
              return status != 0 ? status : (works(pool) ? 0 : 3);
            }),
            0);
}

TEST_F(process_fork, by_a_task_gives_a_child_whose_pools_all_work) {
  rubato::pool pool(2), other(2);
  ASSERT_TRUE(works(pool) && works(other));
  std::atomic<int> status = -1;
  pool.enqueue([&] {
    status = in_forked_child([&] {
      // The only thread of the child is this task. It may not wait for its own pool to be idle.
      std::atomic<int> ran = 0;
      for (int i = 0; i < 10; ++i) pool.enqueue([&] { ++ran; });
      if (!eventually([&] { return ran == 10; })) return 1;
      if (forked_sum(0, 300) != sum_below(300)) return 2;
      return works(other) ? 0 : 3;
    });
  });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(status, 0);
}

TEST_F(process_fork, inside_run_gives_a_child_whose_pool_works) {
  rubato::pool pool(2);
  EXPECT_EQ(
      pool.run([&] { return in_forked_child([&] { return forked_sum(0, 300) == sum_below(300) ? 0 : 1; }); }),
      0);
  EXPECT_TRUE(works(pool));
}

TEST_F(process_fork, while_all_threads_work_gives_children_that_work) {
  rubato::pool pool(4);
  std::atomic<bool> stop = false;
  std::atomic<long> ran = 0;
  auto again = [&](auto& self) -> void {
    ++ran;
    forked_sum(0, 50);
    auto const memory = std::make_unique<char[]>(1'000);
    if (!stop) pool.enqueue([&self] { self(self); });
  };
  for (int i = 0; i < 6; ++i) pool.enqueue([&] { again(again); });
  std::jthread const guest([&] {
    while (!stop) pool.run([] { forked_sum(0, 50); });
  });
  for (unsigned i = 0; i < scaled(40); ++i) {
    EXPECT_EQ(in_forked_child([&] {
                std::atomic<int> mine = 0;
                for (int k = 0; k < 20; ++k) pool.enqueue([&] { ++mine; });
                pool.wait_idle();
                std::_Exit(mine == 20 ? 0 : 1); // the guest is not in the child: nothing else to end
                return 0;
              }),
              0);
    long const before = ran;
    EXPECT_TRUE(eventually([&] { return ran > before; })) << "the parent stopped after a fork";
  }
  stop = true;
  pool.wait_idle(); // what was enqueued uses `again`, which ends before the pool does
}

TEST(process_fork_inside, regression_two_runs_lets_a_child_go_on) {
  if (under_tsan) GTEST_SKIP() << "ThreadSanitizer does not follow a fork";
  rubato::pool outer(1), inner(1);
  int child = -1;
  outer.run([&] {
    inner.run([&] { child = ::fork(); }); // what it returns through is gone in the child
    if (child == 0) {
      kill_this_process_if_it_hangs();
      std::_Exit(7);
    }
  });
  EXPECT_EQ(wait_for_child(child), 7);
}

} // namespace
