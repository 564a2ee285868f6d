// Guarantee F: a task that queues itself without end does not starve the other tasks.
#include <rubato/join.hpp>
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "support/trees.hpp"
#include "support/waiting.hpp"

namespace {

using namespace pool_test;

// No spares in these tests: no relief thread serves a task that was passed over.
rubato::pool_options alone(unsigned workers) {
  rubato::pool_options options;
  options.workers(workers).spares(0);
  return options;
}

/// Tasks that enqueue themselves again until they are told to end.
class perpetual {
  rubato::pool& pool_;
  std::atomic<bool> end_ = false;
  std::atomic<std::uint64_t> turns_ = 0;

  void turn() {
    turns_.fetch_add(1, std::memory_order_relaxed);
    if (!end_.load(std::memory_order_relaxed)) pool_.enqueue([this] { turn(); });
  }

public:
  perpetual(rubato::pool& pool, unsigned tasks)
      : pool_(pool) {
    for (unsigned i = 0; i < tasks; ++i) pool.enqueue([this] { turn(); });
    EXPECT_TRUE(eventually([this] { return turns() > 1'000; }));
  }
  ~perpetual() {
    end_ = true;
    EXPECT_TRUE(pool_.wait_idle());
  }
  std::uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }
};

class fairness : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, fairness, testing::Values(1u, 2u, 4u), testing::PrintToStringParamName());

TEST_P(fairness, local_work_without_end_does_not_starve_an_outside_task) {
  for (unsigned tasks : {1u, 2u, 100u}) {
    SCOPED_TRACE(tasks);
    rubato::pool pool(alone(GetParam()));
    perpetual const local(pool, tasks);
    for (int round = 0; round < 20; ++round) {
      std::atomic<bool> ran = false;
      pool.enqueue([&] { ran = true; });
      ASSERT_TRUE(eventually([&] { return ran.load(); })) << "round " << round;
    }
  }
}

TEST(fairness_of_two_workers, shares_them_with_a_long_queue_from_outside) {
  constexpr std::uint64_t from_outside = 3'000;
  rubato::pool pool(alone(2));
  auto const work = [] { // so long that local tasks have their time slice soon
    for (auto const until = std::chrono::steady_clock::now() + 2us;
         std::chrono::steady_clock::now() < until;) {
    }
  };
  std::atomic<bool> end = false;
  std::atomic<std::uint64_t> turns = 0, ran = 0;
  std::function<void()> const turn = [&] {
    work();
    turns.fetch_add(1, std::memory_order_relaxed);
    if (!end.load(std::memory_order_relaxed)) pool.enqueue([&] { turn(); });
  };
  for (unsigned i = 0; i != 600; ++i) pool.enqueue([&] { turn(); }); // more than both run queues hold
  ASSERT_TRUE(eventually([&] { return turns > 1'000; }));
  std::uint64_t const before = turns;
  for (std::uint64_t i = 0; i != from_outside; ++i) pool.enqueue([&] { work(), ++ran; });
  ASSERT_TRUE(eventually([&] { return ran == from_outside; }));
  std::uint64_t const beside = turns - before;
  end = true;
  ASSERT_TRUE(pool.wait_idle());
  EXPECT_LE(beside, from_outside * 61 / 4) << "one task of 61 from outside would be 180,000 local ones";
}

TEST(fairness_of_one_worker, lets_an_outside_task_in_after_a_bounded_number_of_local_ones) {
  rubato::pool pool(alone(1));
  perpetual const local(pool, 100);
  std::uint64_t most = 0;
  for (int round = 0; round < 100; ++round) {
    std::atomic<std::uint64_t> at_start = 0;
    pool.enqueue([&] { at_start = local.turns(); });
    std::uint64_t const enqueued = local.turns();
    ASSERT_TRUE(eventually([&] { return at_start != 0; }));
    if (at_start > enqueued) most = std::max(most, at_start - enqueued);
  }
  EXPECT_LE(most, 61u * 50) << "promised: every 61st task comes from outside if there is one";
}

TEST_P(fairness, joins_without_end_do_not_starve_an_outside_task) {
  rubato::pool pool(alone(GetParam()));
  std::atomic<bool> end = false;
  struct forking {
    static void turn(rubato::pool& p, std::atomic<bool>& e) {
      forked_sum(0, 64);
      if (!e) p.enqueue([&] { turn(p, e); });
    }
  };
  for (unsigned i = 0; i < 2 * GetParam(); ++i) pool.enqueue([&] { forking::turn(pool, end); });
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> ran = false;
    pool.enqueue([&] { ran = true; });
    EXPECT_TRUE(eventually([&] { return ran.load(); })) << "round " << round;
  }
  end = true;
  EXPECT_TRUE(pool.wait_idle());
}

TEST_P(fairness, outside_work_without_end_does_not_starve_a_local_task) {
  std::atomic<bool> ran = false;
  std::atomic<int> outstanding = 0;
  rubato::pool pool(alone(GetParam()));
  std::vector<std::jthread> floods;
  for (int t = 0; t < 2; ++t) {
    floods.emplace_back([&] {
      auto const end = std::chrono::steady_clock::now() + bound;
      while (!ran && std::chrono::steady_clock::now() < end) {
        if (outstanding < 2'000) {
          ++outstanding;
          pool.enqueue([&] { --outstanding; });
        }
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return outstanding > 100; }));
  pool.enqueue([&] { pool.enqueue([&] { ran = true; }); });
  EXPECT_TRUE(eventually([&] { return ran.load(); }));
  floods.clear();
  EXPECT_TRUE(pool.wait_idle());
}

TEST_P(fairness, one_perpetual_task_does_not_starve_the_other_local_ones) {
  rubato::pool pool(alone(GetParam()));
  perpetual const local(pool, 1);
  std::atomic<int> done = 0;
  pool.enqueue([&] {
    for (int i = 0; i < 100; ++i) pool.enqueue([&] { ++done; });
  });
  EXPECT_TRUE(eventually([&] { return done == 100; }));
}

TEST_P(fairness, a_perpetual_pool_can_be_broadcast_to_and_resized) {
  rubato::pool pool(alone(GetParam()));
  perpetual const local(pool, 2 * GetParam());
  std::atomic<unsigned> calls = 0;
  pool.broadcast([&] { ++calls; });
  EXPECT_EQ(calls, GetParam());
  pool.resize(GetParam() + 1);
  std::uint64_t const before = local.turns();
  EXPECT_TRUE(eventually([&] { return local.turns() > before + 100; }));
  pool.resize(1);
  std::uint64_t const after = local.turns();
  EXPECT_TRUE(eventually([&] { return local.turns() > after + 100; }));
}

} // namespace
