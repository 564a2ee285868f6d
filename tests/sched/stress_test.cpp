// Everything at once, on more threads than cores, with an account of every single task.
#include <rubato/cancelled.hpp>
#include <rubato/join.hpp>
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "support/counting.hpp"
#include "support/scale.hpp"
#include "support/trees.hpp"
#include "support/waiting.hpp"
#include "support/with_workers.hpp"

namespace {

using namespace rubato_test;

/// splitmix64 (Steele, Lea, Flood 2014): the same choices in every run, for all that the threads do not
/// decide.
class dice {
  std::uint64_t state_;

public:
  explicit dice(std::uint64_t seed)
      : state_(seed) {}
  unsigned below(unsigned n) {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<unsigned>((z ^ (z >> 31)) % n);
  }
};

/// What the threads of the stress do to one pool. Every operation ends, whatever the others do meanwhile.
class crowd {
  rubato::pool& pool_;
  accounts jobs_;
  std::atomic<long> calls_due_ = 0, calls_ = 0; // of enqueue_bulk
  std::atomic<unsigned> wrong_ = 0;
  std::atomic<long> refused_ = 0; // jobs, by the pool that another thread has shut down

  /// False: the pool was closed.
  template<class F>
  static bool attempt(F queue) {
    try {
      queue();
      return true;
    } catch (rubato::cancelled const&) {
      return false;
    }
  }

  void check_forks(unsigned leaves) { wrong_ += forked_sum(0, leaves) != sum_below(leaves); }

  /// A task that does further things, some of them with others.
  void enqueue_busy_task(unsigned kind) {
    auto busy = [this, kind, job = jobs_.make()]() mutable {
      job();
      switch (kind) {
      case 0:
        check_forks(64);
        break;
      case 1:
        rubato::blocking([] { std::this_thread::sleep_for(50us); });
        break;
      case 2:
        pool_.enqueue(jobs_.make());
        break;
      case 3:
        pool_.resize(1 + kind);
        break;
      case 4:
        pool_.broadcast([] {});
        break;
      case 5:
        pool_.run([this] { check_forks(16); });
        break;
      default: {
        auto const [a, b] = rubato::join([] { return rubato::blocking([] { return 1; }); }, [] { return 2; });
        wrong_ += a + b != 3;
      }
      }
    };
    refused_ += !attempt([&] { pool_.enqueue(std::move(busy)); });
  }

  void enqueue_in_bulk(unsigned n) {
    if (attempt([&] { pool_.enqueue_bulk(n, [this](std::size_t) { ++calls_; }); })) calls_due_ += n;
  }

  void broadcast() {
    std::atomic<std::size_t> calls = 0;
    auto const results = pool_.broadcast([&] {
      ++calls;
      return 1;
    });
    wrong_ += results.size() != calls;
  }

public:
  explicit crowd(rubato::pool& pool)
      : pool_(pool) {}

  void do_something(dice& d, bool discarding) {
    switch (d.below(16)) {
    case 0:
      pool_.resize(d.below(7));
      break;
    case 1:
      enqueue_in_bulk(d.below(20));
      break;
    case 2:
      broadcast();
      break;
    case 3:
      pool_.wait_idle(std::chrono::microseconds(d.below(300)));
      break;
    case 4:
      wrong_ += pool_.run([] { return forked_sum(0, 100); }) != sum_below(100);
      break;
    case 5: {
      [[maybe_unused]] auto const member = pool_.join_as_member();
      check_forks(30);
      break;
    }
    case 6:
      if (d.below(8) != 0) break;
      if (discarding && d.below(2) == 0) {
        pool_.shutdown(rubato::discard);
      } else {
        pool_.shutdown();
      }
      pool_.resize(1 + d.below(4));
      break;
    case 7:
      if (d.below(8) == 0) pool_.request_shutdown(rubato::drain);
      pool_.resize(1 + d.below(4));
      break;
    case 8: {
      auto job = jobs_.make();
      refused_ += !pool_.try_enqueue(std::move(job)); // there is no limit
      break;
    }
    case 9:
      std::this_thread::sleep_for(std::chrono::microseconds(d.below(200)));
      break;
    default:
      enqueue_busy_task(d.below(7));
    }
  }

  /// When all threads have ended: nothing is lost, nothing came twice.
  void settle(bool discarding) {
    pool_.resize(3);
    EXPECT_TRUE(pool_.wait_idle());
    EXPECT_TRUE(jobs_.balance());
    EXPECT_EQ(pool_.pending(), 0u);
    EXPECT_EQ(wrong_, 0u);
    if (!discarding) {
      EXPECT_EQ(jobs_.dropped(), refused_) << "drained, not discarded";
      EXPECT_EQ(calls_, calls_due_);
    } else {
      EXPECT_LE(calls_, calls_due_);
    }
  }
};

void let_a_crowd_loose(rubato::pool_options options, bool discarding) {
  rubato::pool pool(std::move(options));
  crowd all(pool);
  unsigned const steps = scaled(600);
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 6; ++t) {
      threads.emplace_back([&, t] {
        dice d(t + 1);
        for (unsigned i = 0; i < steps; ++i) all.do_something(d, discarding);
      });
    }
  }
  all.settle(discarding);
}

TEST(stress, of_everything_loses_no_task_and_runs_none_twice) {
  let_a_crowd_loose(std::move(rubato::pool_options().workers(3)), false);
}

TEST(stress, of_everything_with_discards_accounts_for_every_task) {
  let_a_crowd_loose(std::move(rubato::pool_options().workers(3)), true);
}

TEST(stress, of_everything_at_once_without_spares) {
  let_a_crowd_loose(std::move(rubato::pool_options().workers(2).spares(0)), false);
}

TEST(stress, of_everything_at_once_with_a_limited_queue) {
  let_a_crowd_loose(std::move(rubato::pool_options().workers(2).max_queued(1'000'000)), false);
}

TEST(stress, of_everything_at_once_with_workers_that_sleep_at_once) {
  let_a_crowd_loose(std::move(rubato::pool_options().workers(4).search_time(0ns)), false);
}

TEST(stress, of_a_tiny_queue_with_joins_and_resizes_hangs_none) {
  accounts jobs;
  {
    rubato::pool pool(rubato::pool_options().workers(2).max_queued(2));
    std::atomic<unsigned> wrong = 0;
    std::vector<std::jthread> producers;
    for (unsigned t = 0; t < 4; ++t) {
      producers.emplace_back([&] {
        for (unsigned i = 0; i < scaled(1'500); ++i) {
          pool.enqueue([&, i, job = jobs.make()]() mutable {
            job();
            wrong += forked_sum(0, 16) != sum_below(16);
            if (i % 4 == 0) pool.enqueue(jobs.make());
          });
        }
      });
    }
    std::jthread resizer([&](std::stop_token stop) {
      for (unsigned i = 0; !stop.stop_requested(); ++i) {
        pool.resize(i % 4);
        std::this_thread::sleep_for(300us);
      }
    });
    producers.clear();
    resizer = {};
    pool.resize(2);
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(wrong, 0u);
  }
  EXPECT_TRUE(jobs.balance());
  EXPECT_EQ(jobs.dropped(), 0);
}

TEST(stress, of_pools_that_come_and_go_while_they_are_used) {
  for (unsigned round = 0; round < scaled(150); ++round) {
    accounts jobs;
    {
      rubato::pool pool(rubato_test::with_workers(round % 5));
      std::vector<std::jthread> producers;
      for (unsigned t = 0; t < 3; ++t) {
        producers.emplace_back([&, t] {
          for (unsigned i = 0; i < 30; ++i) {
            pool.enqueue([&, job = jobs.make()]() mutable {
              job();
              forked_sum(0, 8);
            });
            if (t == 0 && i % 10 == 0) pool.resize(1 + i % 3);
          }
        });
      }
      producers.clear();
    }
    ASSERT_TRUE(jobs.balance());
    ASSERT_EQ(jobs.dropped(), 0) << "the destructor drains";
  }
}

TEST(stress, of_idle_times_and_bursts) {
  // Workers fall asleep, and are wanted again, all of them, over and over.
  rubato::pool pool(8);
  dice d(42);
  std::atomic<std::uint64_t> sum = 0;
  std::uint64_t expected = 0;
  for (unsigned burst = 0; burst < scaled(500); ++burst) {
    unsigned const tasks = 1 + d.below(30);
    for (unsigned i = 0; i < tasks; ++i) {
      unsigned const leaves = d.below(200);
      expected += sum_below(leaves);
      pool.enqueue([&sum, leaves] { sum += forked_sum(0, leaves); });
    }
    if (d.below(3) == 0) {
      ASSERT_TRUE(pool.wait_idle());
      ASSERT_EQ(sum, expected);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(d.below(300)));
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(sum, expected);
}

} // namespace
