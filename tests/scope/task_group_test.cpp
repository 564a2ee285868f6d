// task_group: a scope as an object, for members, for threads outside the pool, for several waiters.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/tally.hpp"
#include "support/values.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

using namespace rubato_test;

namespace {

class task_groups : public on_workers {};
RUBATO_TEST_WITH_WORKERS(task_groups, all_counts);

class parallel_groups : public on_workers {};
RUBATO_TEST_WITH_WORKERS(parallel_groups, counts_with_workers);

static_assert(!std::is_copy_constructible_v<rubato::task_group>);

TEST_P(task_groups, run_their_children_once_by_the_end_of_wait) {
  tally ran(500);
  rubato::task_group group(pool);
  for (int i = 0; i != 500; ++i) group.spawn([&ran, i] { ran.hit(i); });
  group.wait();
  ran.expect_each_once();
}

TEST_P(task_groups, wait_in_their_destructor) {
  for (int round = 0; round != 50; ++round) {
    std::atomic<int> count{0};
    {
      rubato::task_group group(pool);
      for (int i = 0; i != 20; ++i) group.spawn([&] { ++count; });
    }
    ASSERT_EQ(count.load(), 20);
  }
}

TEST_P(task_groups, can_be_made_and_left_empty) {
  {
    rubato::task_group const unused(pool);
  }
  rubato::task_group group(pool);
  group.wait();
  group.wait();
  EXPECT_FALSE(group.token().stop_requested());
}

TEST_P(task_groups, can_be_members) {
  class service {
  public:
    explicit service(rubato::pool& pool)
        : group_(pool) {}
    void add(int n) {
      group_.spawn([this, n] { sum_ += n; });
    }
    int finish() {
      group_.wait();
      return sum_.load();
    }

  private:
    std::atomic<int> sum_{0}; // before the group, so that it dies after the children
    rubato::task_group group_;
  };
  service one(pool);
  auto const two = std::make_unique<service>(pool);
  for (int i = 1; i <= 100; ++i) {
    one.add(i);
    two->add(2 * i);
  }
  EXPECT_EQ(one.finish(), 5050);
  EXPECT_EQ(two->finish(), 10100);
}

TEST_P(task_groups, can_be_used_again_after_a_wait) {
  std::atomic<int> count{0};
  rubato::task_group group(pool);
  for (int round = 1; round <= 50; ++round) {
    for (int i = 0; i != 5; ++i) group.spawn([&] { ++count; });
    group.wait();
    ASSERT_EQ(count.load(), 5 * round);
  }
}

TEST_P(task_groups, take_children_from_their_children) {
  std::atomic<int> count{0};
  rubato::task_group group(pool);
  struct tree {
    static void grow(rubato::task_group& group, int depth, std::atomic<int>& count) {
      ++count;
      if (depth == 0) return;
      for (int i = 0; i != 2; ++i) group.spawn([&group, depth, &count] { grow(group, depth - 1, count); });
    }
  };
  group.spawn([&] { tree::grow(group, 9, count); });
  group.wait();
  EXPECT_EQ(count.load(), 1023);
}

TEST_P(task_groups, take_children_from_outside_threads) {
  constexpr int threads = 4;
  constexpr int each = 500;
  tally ran(threads * each);
  rubato::task_group group(pool);
  std::vector<std::thread> spawners;
  for (int t = 0; t != threads; ++t) {
    spawners.emplace_back([&, t] {
      for (int i = 0; i != each; ++i) group.spawn([&ran, n = t * each + i] { ran.hit(n); });
    });
  }
  for (auto& thread : spawners) thread.join();
  group.wait();
  ran.expect_each_once();
}

TEST_P(task_groups, can_be_waited_for_inside_the_pool) {
  std::atomic<int> count{0};
  pool.run([&] {
    rubato::task_group group(pool);
    for (int i = 0; i != 100; ++i) group.spawn([&] { ++count; });
    group.wait();
    EXPECT_EQ(count.load(), 100);
    rubato::task_group current; // of the pool that the thread is in
    current.spawn([&] { count += rubato::current_pool() == &pool; });
    current.wait();
    EXPECT_EQ(count.load(), 101);
  });
}

TEST_P(task_groups, run_their_children_on_their_pool) {
  std::atomic<int> here{0};
  rubato::task_group group(pool);
  for (int i = 0; i != 50; ++i) group.spawn([&] { here += rubato::current_pool() == &pool; });
  group.wait();
  EXPECT_EQ(here.load(), 50);
}

TEST_P(task_groups, can_be_waited_for_by_several_threads) {
  for (int round = 0; round != 20; ++round) {
    std::atomic<int> count{0};
    rubato::task_group group(pool);
    for (int i = 0; i != 200; ++i) group.spawn([&] { ++count; });
    std::vector<std::thread> waiters;
    std::atomic<int> early{0};
    for (int t = 0; t != 4; ++t) {
      waiters.emplace_back([&] {
        group.wait();
        if (count.load() != 200) ++early;
      });
    }
    for (auto& thread : waiters) thread.join();
    ASSERT_EQ(count.load(), 200);
    ASSERT_EQ(early.load(), 0);
  }
}

TEST_P(parallel_groups, may_be_waited_for_by_several_threads) {
  // The child ends after all waiters have been let in; whether they sleep by then or not, all come back.
  for (int round = 0; round != 20; ++round) {
    milestone begun;
    milestone go;
    std::atomic<bool> ended{false};
    rubato::task_group group(pool); // last, so that its children never outlive what they use
    group.spawn([&] {
      begun.reach();
      EXPECT_TRUE(go.wait());
      ended = true;
    });
    ASSERT_TRUE(begun.wait());
    std::atomic<int> early{0};
    arrivals waiting;
    std::vector<std::thread> waiters;
    for (int t = 0; t != 4; ++t) {
      waiters.emplace_back([&] {
        waiting.arrive();
        group.wait();
        if (!ended.load()) ++early;
      });
    }
    EXPECT_TRUE(waiting.wait_for(4));
    go.reach();
    for (auto& thread : waiters) thread.join();
    ASSERT_EQ(early.load(), 0);
  }
}

TEST_P(parallel_groups, run_without_a_waiter) {
  arrivals ran;
  rubato::task_group group(pool);
  for (int i = 0; i != 100; ++i) group.spawn([&] { ran.arrive(); });
  EXPECT_TRUE(ran.wait_for(100)); // no thread waits for the group: its children are work like any other
}

TEST_P(task_groups, throw_the_first_exception_out_of_wait_once) {
  leak_check const leaks;
  rubato::task_group group(pool);
  group.spawn([] { throw counted_error(4); });
  EXPECT_EQ(thrown_by([&] { group.wait(); }), 4);
  EXPECT_EQ(thrown_by([&] { group.wait(); }), std::nullopt);
}

TEST_P(task_groups, stop_what_has_not_begun) {
  leak_check const leaks;
  std::atomic<int> begun{0};
  {
    rubato::task_group group(pool);
    for (int i = 0; i != 10'000; ++i) {
      group.spawn([&, owned = counted(i)] {
        ++begun;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
    }
    group.request_stop();
    int const before = begun.load();
    group.wait();
    EXPECT_TRUE(group.token().stop_requested());
    EXPECT_LE(begun.load() - before, static_cast<int>(GetParam()) + 2);
  }
}

TEST(task_group_from_outside, uses_the_global_pool) {
  hang_guard const guard;
  std::atomic<rubato::pool*> used{nullptr};
  rubato::task_group group;
  group.spawn([&] { used = rubato::current_pool(); });
  group.wait();
  EXPECT_EQ(used.load(), &rubato::pool::global());
}

TEST(task_groups, regression_may_outlive_the_scope_of_their_making) {
  rubato::pool pool(2);
  std::unique_ptr<rubato::task_group> group;
  std::atomic<int> ran{0};
  auto const ten_items = [&] { rubato::for_index(0, 10, [&](int) { ++ran; }); };
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& scope) {
      scope.spawn([&] { group = std::make_unique<rubato::task_group>(pool); });
      scope.wait();
      scope.request_stop();
      group->spawn(ten_items);
      group->wait();
    });
  });
  EXPECT_EQ(ran, 10) << "the scope's stop is none of the group";
  for (int i = 0; i != 10; ++i) group->spawn(ten_items); // nothing of the scope is left to look at
  group->wait();
  EXPECT_EQ(ran, 110);
}

} // namespace
