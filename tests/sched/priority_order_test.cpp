// In which order a pool begins tasks of different priorities.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/counting.hpp"
#include "support/hang_guard.hpp"
#include "support/pools.hpp"
#include "support/priority_log.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using rubato::priority;

class priorities : public rubato_test::on_workers {};
RUBATO_TEST_WITH_WORKERS(priorities, all_counts);

TEST_P(priorities, run_each_task_exactly_once) {
  std::size_t const n = rubato_test::scaled(3'000);
  rubato_test::tally tasks(3 * n);
  for (std::size_t i = 0; i != n; ++i) {
    pool.enqueue(priority::low, [&, i] { tasks.hit(3 * i); });
    pool.enqueue(priority::normal, [&, i] { tasks.hit(3 * i + 1); });
    pool.enqueue(priority::high, [&, i] { tasks.hit(3 * i + 2); });
  }
  EXPECT_TRUE(pool.wait_idle());
  tasks.expect_each_once();
}

TEST_P(priorities, run_each_task_of_threads_and_tasks_exactly_once) {
  constexpr std::size_t producers = 4;
  std::size_t const each = rubato_test::scaled(500);
  rubato_test::tally tasks(producers * each * 2);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t != producers; ++t)
      threads.emplace_back([&, t] {
        for (std::size_t i = t * each; i != (t + 1) * each; ++i) {
          auto const c = static_cast<priority>(i % 3);
          auto const other = static_cast<priority>((i + t) % 3);
          pool.enqueue(c, [&, i, other] {
            tasks.hit(2 * i);
            pool.enqueue(other, [&, i] { tasks.hit(2 * i + 1); });
          });
        }
      });
  }
  EXPECT_TRUE(pool.wait_idle());
  tasks.expect_each_once();
}

TEST_P(priorities, give_results_of_closures_and_coroutines) {
  auto coroutine = [](int n) -> rubato::task<int> { co_return n; };
  for (priority const c : {priority::high, priority::normal, priority::low}) {
    EXPECT_EQ(pool.spawn(c, [](int a, int b) { return a + b; }, 20, 22).get(), 42);
    EXPECT_EQ(pool.spawn(c, coroutine(7)).get(), 7);
    EXPECT_EQ(pool.spawn(c, [&] { return coroutine(8); }).get(), 8);
    EXPECT_EQ(rubato::spawn(pool, c, [] { return 9; }).get(), 9);
    std::atomic<int> ran{0};
    pool.enqueue(c, [&] { ++ran; });
    rubato::enqueue(pool, c, [&] { ++ran; });
    auto counting = [](std::atomic<int>& n) -> rubato::task<void> {
      ++n;
      co_return;
    };
    pool.enqueue(c, counting(ran));
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(ran, 3);
  }
}

void enqueue_ten_of_each(rubato::pool& pool, task_log& log) {
  for (int i = 0; i != 10; ++i) pool.enqueue(priority::low, [&] { log.add("low"); });
  for (int i = 0; i != 10; ++i) pool.enqueue([&] { log.add("normal"); });
  for (int i = 0; i != 10; ++i) pool.enqueue(priority::high, [&] { log.add("high"); });
}
void expect_high_before_normal_before_low(task_log const& log) {
  ASSERT_EQ(log.size(), 30u);
  // One of 61 tasks is chosen without regard to high.
  EXPECT_LE(log.before_last("normal", "high") + log.before_last("low", "high"), 1u);
  EXPECT_LE(log.before_last("low", "normal"), 1u);
}

TEST(priority_order, begins_high_before_normal_before_low) {
  rubato_test::hang_guard const guard;
  task_log log;
  rubato::pool pool(alone(1));
  {
    held_workers held(pool);
    enqueue_ten_of_each(pool, log);
  }
  EXPECT_TRUE(pool.wait_idle());
  expect_high_before_normal_before_low(log);
}

TEST(priority_order, is_that_of_the_pushes_within_a_class) {
  rubato_test::hang_guard const guard;
  for (priority const c : {priority::high, priority::low}) {
    task_log log;
    rubato::pool pool(alone(1));
    {
      held_workers held(pool);
      for (int i = 0; i != 200; ++i) pool.enqueue(c, [&log, i] { log.add(std::to_string(i)); });
    }
    EXPECT_TRUE(pool.wait_idle());
    std::vector<std::string> expected;
    for (int i = 0; i != 200; ++i) expected.push_back(std::to_string(i));
    EXPECT_EQ(log.names(), expected);
  }
}

TEST(priority_order, holds_for_a_driver_without_workers) {
  rubato_test::hang_guard const guard;
  task_log log;
  rubato::pool pool(rubato::no_workers);
  enqueue_ten_of_each(pool, log);
  EXPECT_TRUE(pool.wait_idle());
  expect_high_before_normal_before_low(log);
}

/// Every task boundary: a task that a running task has queued as high begins next.
TEST(priority_order, begins_a_high_task_at_the_next_boundary) {
  rubato_test::hang_guard const guard;
  task_log log;
  rubato::pool pool(alone(1));
  std::size_t late = 0;
  constexpr int rounds = 600;
  {
    held_workers held(pool);
    for (int i = 0; i != rounds; ++i)
      pool.enqueue([&] {
        log.add("normal");
        pool.enqueue(priority::high, [&] { log.add("high"); });
      });
  }
  EXPECT_TRUE(pool.wait_idle());
  std::vector<std::string> const all = log.names();
  ASSERT_EQ(all.size(), 2u * rounds);
  for (std::size_t i = 1; i != all.size(); ++i)
    if (all[i - 1] == "normal" && all[i] == "normal") ++late;
  EXPECT_LE(late, all.size() / 61 + 1) << "more than the 61st boundary ignored the priority";
}

/// Children of scopes and tasks that are bound to the seat are normal tasks, too.
TEST(priority_order, begins_high_tasks_before_children_and_inbox) {
  rubato_test::hang_guard const guard;
  task_log log;
  rubato::pool pool(alone(1));
  {
    rubato::task_group group(pool);
    {
      held_workers held(pool);
      for (int i = 0; i != 100; ++i) group.spawn([&] { log.add("normal"); });
      for (int i = 0; i != 100; ++i) pool.spawn_on(0, [&] { log.add("normal"); }).detach();
      for (int i = 0; i != 100; ++i) pool.enqueue(priority::high, [&] { log.add("high"); });
    }
    EXPECT_TRUE(eventually([&] { return log.size() == 300; }));
  }
  EXPECT_LE(log.before_last("normal", "high"), 100u / 61 + 1);
}

TEST(priority_order, ignores_the_class_for_a_waiters_own_work) {
  rubato_test::hang_guard const guard;
  task_log log;
  rubato::pool pool(alone(1));
  pool.run([&] {
    pool.enqueue(priority::high, [&] { log.add("high"); });
    pool.spawn(priority::low, [&] { log.add("low"); }).get();
  });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(log.size(), 2u);
}

/// One starts the next without end; returns when it is told to.
class flood {
  rubato::pool& pool_;
  priority const class_;
  std::atomic<bool> end_{false};
  unsigned const tasks_;
  std::atomic<std::size_t> turns_{0};
  std::atomic<unsigned> ended_{0};

  void turn() {
    turns_.fetch_add(1);
    if (end_)
      ended_.fetch_add(1);
    else
      pool_.enqueue(class_, [this] { turn(); });
  }

public:
  /// `begins`: returns when it has begun.
  flood(rubato::pool& pool, priority c, unsigned tasks, bool begins = true)
      : pool_(pool)
      , class_(c)
      , tasks_(tasks) {
    for (unsigned i = 0; i != tasks; ++i) pool.enqueue(c, [this] { turn(); });
    EXPECT_TRUE(!begins || eventually([this] { return turns_ > 200; }));
  }
  [[nodiscard]] std::size_t turns() const { return turns_.load(); }
  ~flood() {
    end_ = true;
    EXPECT_TRUE(eventually([this] { return ended_ == tasks_; }));
  }
};

class starvation : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, starvation, testing::Values(1u, 2u, 7u), testing::PrintToStringParamName());

TEST_P(starvation, of_no_class_by_a_flood_of_another) {
  rubato_test::hang_guard const guard;
  for (priority const flooding : {priority::high, priority::normal, priority::low})
    for (priority const other : {priority::high, priority::normal, priority::low}) {
      SCOPED_TRACE(static_cast<int>(flooding) * 10 + static_cast<int>(other));
      rubato::pool pool(alone(GetParam()));
      flood const all(pool, flooding, 10 * GetParam());
      for (int round = 0; round != 3; ++round) {
        std::atomic<bool> ran = false;
        pool.enqueue(other, [&] { ran = true; });
        ASSERT_TRUE(eventually([&] { return ran.load(); }));
      }
    }
}

TEST_P(starvation, of_none_by_floods_of_the_two_others) {
  rubato_test::hang_guard const guard;
  for (priority const other : {priority::high, priority::normal, priority::low}) {
    SCOPED_TRACE(static_cast<int>(other));
    rubato::pool pool(alone(GetParam()));
    std::vector<std::unique_ptr<flood>> floods;
    for (priority const c : {priority::high, priority::normal, priority::low})
      if (c != other) floods.push_back(std::make_unique<flood>(pool, c, 10 * GetParam()));
    std::atomic<bool> ran = false;
    pool.enqueue(other, [&] { ran = true; });
    ASSERT_TRUE(eventually([&] { return ran.load(); }));
    floods.clear();
  }
}

/// Those that normal tasks alone do not starve: guarantee F.
TEST_P(starvation, of_no_kind_of_normal_work_by_high_tasks) {
  rubato_test::hang_guard const guard;
  rubato::pool pool(alone(GetParam()));
  flood const all(pool, priority::high, 10 * GetParam());
  flood const own(pool, priority::normal, 10 * GetParam());
  std::atomic<int> ran = 0;
  pool.spawn_on(0, [&] { ++ran; }).detach(); // an inbox
  ASSERT_TRUE(eventually([&] { return ran == 1; }));
  rubato::task_group group(pool);
  group.spawn([&] { ++ran; }); // a child of a scope
  ASSERT_TRUE(eventually([&] { return ran == 2; }));
  pool.enqueue_after(std::chrono::microseconds(1), [&] { ++ran; }); // the event lane
  ASSERT_TRUE(eventually([&] { return ran == 3; }));
}

/// A low task that counts as normal among normal tasks keeps the turn that it has among high ones.
TEST_P(starvation, regression_of_low_tasks_aged_by_high_ones) {
  rubato_test::hang_guard const guard;
  rubato::pool pool(alone(GetParam()));
  std::atomic<bool> ran = false;
  std::unique_ptr<flood> all;
  {
    held_workers held(pool);
    pool.enqueue(priority::low, [&] { ran = true; });
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    all = std::make_unique<flood>(pool, priority::high, 10 * GetParam(), false);
  }
  EXPECT_TRUE(eventually([&] { return ran.load(); }));
}

/// If no normal task is queued, the turns of those are the children's.
TEST(starvation_alone, regression_of_a_child_by_high_tasks_alone) {
  rubato_test::hang_guard const guard;
  rubato::pool pool(alone(1));
  flood const all(pool, priority::high, 10);
  rubato::task_group group(pool);
  std::atomic<std::size_t> spawned = 0, began = 0;
  pool.enqueue(priority::high, [&] {
    group.spawn([&] { began = all.turns(); });
    spawned = all.turns();
  });
  ASSERT_TRUE(eventually([&] { return began != 0; }));
  EXPECT_LE(began - spawned, 5u * 61);
}

/// A substitute has the turns of a worker.
TEST(starvation_alone, regression_of_no_class_behind_a_blocked_one) {
  rubato_test::hang_guard const guard;
  for (priority const flooding : {priority::high, priority::normal}) {
    rubato::pool pool(1);
    rubato_test::gate release;
    std::atomic<bool> blocks = false;
    pool.enqueue([&] {
      blocks = true;
      static_cast<void>(release.wait());
    });
    ASSERT_TRUE(eventually([&] { return blocks.load(); }));
    {
      flood const all(pool, flooding, 10);
      std::atomic<int> ran = 0;
      pool.enqueue([&] { ++ran; });
      pool.enqueue(priority::low, [&] { ++ran; });
      EXPECT_TRUE(eventually([&] { return ran == 2; })) << static_cast<int>(flooding);
    }
    release.open();
    EXPECT_TRUE(pool.wait_idle());
  }
}

} // namespace
