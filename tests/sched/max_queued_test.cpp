// A pool with a limit: enqueue waits, try_enqueue refuses, and no thread deadlocks.
#include <rubato/cancelled.hpp>
#include <rubato/join.hpp>
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/counting.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"
#include "support/with_workers.hpp"

namespace {

using namespace rubato_test;

// Where a worker is held in these tests there are no spares: a relief thread would free capacity.
rubato::pool_options limited(unsigned workers, std::size_t limit) {
  return rubato_test::with_workers(workers).spares(0).max_queued(limit);
}

/// Keeps the only worker of a pool from taking tasks.
class held_worker {
  gate gate_;
  std::atomic<bool> begun_ = false;
  std::atomic<bool> ended_ = false;

public:
  explicit held_worker(rubato::pool& pool) {
    pool.enqueue([this] {
      begun_ = true;
      gate_.wait();
      ended_ = true;
    });
    EXPECT_TRUE(eventually([this] { return begun_.load(); }));
  }
  void open() { gate_.open(); }
  ~held_worker() {
    open();
    EXPECT_TRUE(eventually([this] { return ended_.load(); }));
  }
};

/// Adds what it owns.
struct adder {
  std::atomic<int>* sum;
  std::unique_ptr<int> addend;
  void operator()() const { *sum += *addend; }
};

TEST(max_queued, regression_refuses_a_negative_limit_with_advice) {
  for (long long const limit : {-1LL, std::numeric_limits<long long>::min()}) {
    try {
      rubato::pool const pool(limited(1, static_cast<std::size_t>(limit)));
      ADD_FAILURE() << "a limit of " << limit << " was accepted";
    } catch (std::invalid_argument const& error) {
      EXPECT_NE(std::string_view(error.what()).find("leave it unset for no limit"), std::string_view::npos);
    }
  }
}

TEST(max_queued, try_enqueue_refuses_and_leaves_the_callable_alone) {
  std::atomic<int> sum = 0;
  rubato::pool pool(limited(1, 3));
  held_worker worker(pool);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pool.try_enqueue([&sum] { ++sum; }));

  adder task{&sum, std::make_unique<int>(10)};
  int const* const owned = task.addend.get();
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(pool.try_enqueue(std::move(task)));
    ASSERT_EQ(task.addend.get(), owned) << "refused, and yet moved from";
  }
  worker.open();
  ASSERT_TRUE(pool.wait_idle());
  EXPECT_EQ(sum, 3);
  EXPECT_TRUE(pool.try_enqueue(std::move(task))) << "there is room again";
  ASSERT_TRUE(pool.wait_idle());
  EXPECT_EQ(sum, 13);
}

TEST(max_queued, try_enqueue_refuses_in_a_pool_without_workers_too) {
  std::atomic<int> ran = 0;
  rubato::pool pool(limited(0, 4));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(pool.try_enqueue([&] { ++ran; }));
  EXPECT_FALSE(pool.try_enqueue([&] { ++ran; }));
  EXPECT_EQ(ran, 0);
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 4);
  EXPECT_TRUE(pool.try_enqueue([&] { ++ran; }));
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 5);
}

TEST(max_queued, enqueue_waits_until_there_is_room) {
  std::atomic<int> ran = 0, accepted = 0;
  rubato::pool pool(limited(1, 2));
  held_worker worker(pool);
  std::jthread const producer([&] {
    for (int i = 0; i < 10; ++i) {
      pool.enqueue([&] { ++ran; });
      ++accepted;
    }
  });
  EXPECT_TRUE(eventually([&] { return accepted == 2; }));
  std::this_thread::sleep_for(
      50ms); // the time that a faulty pool has to accept more: it cannot fail a right one
  EXPECT_EQ(accepted, 2);
  EXPECT_FALSE(pool.try_enqueue([&] { ++ran; }));
  worker.open();
  EXPECT_TRUE(eventually([&] { return ran == 10; }));
}

TEST(max_queued, enqueue_waits_in_bulk_too_even_above_the_limit) {
  constexpr std::size_t calls = 1'000;
  tally tasks(calls);
  rubato::pool pool(limited(1, 2));
  {
    held_worker worker(pool);
    for (int i = 0; i < 2; ++i) pool.enqueue([] {});
    std::atomic<bool> returned = false;
    std::jthread const producer([&] {
      pool.enqueue_bulk(calls, [&](std::size_t i) { tasks.hit(i); });
      returned = true;
    });
    std::this_thread::sleep_for(50ms); // as above
    EXPECT_FALSE(returned) << "the queue is full";
    worker.open();
  }
  EXPECT_TRUE(pool.wait_idle());
  tasks.expect_each_once();
}

TEST(max_queued, is_never_exceeded_by_many_producers) {
  constexpr unsigned producers = 6, limit = 8, workers = 2;
  unsigned const each = scaled(2'000);
  tally tasks(producers * each);
  std::atomic<long> waiting = 0, most = 0; // accepted for certain, and not yet begun
  rubato::pool pool(limited(workers, limit));
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < producers; ++t) {
      threads.emplace_back([&, t] {
        for (unsigned i = t * each; i < (t + 1) * each; ++i) {
          pool.enqueue([&, i] {
            --waiting;
            tasks.hit(i);
          });
          long const now = ++waiting;
          for (long seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
          }
        }
      });
    }
  }
  EXPECT_TRUE(pool.wait_idle());
  tasks.expect_each_once();
  EXPECT_LE(most, limit + workers) << "a worker may have taken one that has not begun";
}

TEST(max_queued, loses_no_wake_up_of_a_producer) {
  // With a queue of one, nearly every enqueue waits for a worker and nearly every worker for an enqueue.
  for (unsigned workers : {1u, 3u}) {
    SCOPED_TRACE(workers);
    unsigned const each = scaled(5'000);
    std::atomic<unsigned> ran = 0;
    rubato::pool pool(limited(workers, 1).search_time(0ns));
    {
      std::vector<std::jthread> producers;
      for (int t = 0; t < 3; ++t) {
        producers.emplace_back([&] {
          for (unsigned i = 0; i < each; ++i) pool.enqueue([&] { ++ran; });
        });
      }
    }
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(ran, 3 * each);
  }
}

TEST(max_queued, lets_a_task_of_a_full_one_worker_pool_enqueue) {
  // If it waited for capacity it would wait for itself.
  tally tasks(100);
  rubato::pool pool(limited(1, 4));
  pool.enqueue([&] {
    for (std::size_t i = 0; i < 100; ++i) pool.enqueue([&tasks, i] { tasks.hit(i); });
  });
  EXPECT_TRUE(pool.wait_idle());
  tasks.expect_each_once();
}

TEST(max_queued, lets_all_workers_of_a_full_pool_enqueue_at_once) {
  constexpr unsigned workers = 3, each = 200;
  tally tasks(workers * each);
  rubato::pool pool(limited(workers, 2));
  rendezvous all(workers);
  for (unsigned w = 0; w < workers; ++w) {
    pool.enqueue([&, w] {
      EXPECT_TRUE(all.meet());
      for (unsigned i = w * each; i < (w + 1) * each; ++i) pool.enqueue([&tasks, i] { tasks.hit(i); });
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  tasks.expect_each_once();
}

TEST(max_queued, lets_a_task_enqueue_in_bulk_beyond_the_limit) {
  tally tasks(500);
  rubato::pool pool(limited(1, 3));
  pool.enqueue([&] { pool.enqueue_bulk(500, [&](std::size_t i) { tasks.hit(i); }); });
  EXPECT_TRUE(pool.wait_idle());
  tasks.expect_each_once();
}

TEST(max_queued, two_full_pools_that_feed_each_other_go_on) {
  std::atomic<int> ran = 0;
  rubato::pool a(limited(1, 2).spares(16)), b(limited(1, 2).spares(16));
  auto feed = [&](rubato::pool& from, rubato::pool& to) {
    from.enqueue([&] {
      for (int i = 0; i < 200; ++i) to.enqueue([&] { ++ran; });
    });
  };
  feed(a, b);
  feed(b, a);
  EXPECT_TRUE(eventually([&] { return ran == 400; }));
}

TEST(max_queued, without_workers_lets_a_caller_drive_for_room) {
  tally tasks(100);
  rubato::pool pool(limited(0, 4));
  for (std::size_t i = 0; i < 100; ++i) pool.enqueue([&tasks, i] { tasks.hit(i); });
  EXPECT_LE(pool.pending(), 4u);
  EXPECT_TRUE(pool.wait_idle());
  tasks.expect_each_once();
}

TEST(max_queued, does_not_keep_a_waiting_producer_in_a_shutdown) {
  for (int round = 0; round < 20; ++round) {
    accounts jobs;
    {
      rubato::pool pool(limited(1, 2));
      held_worker worker(pool);
      std::atomic<bool> first = false;
      std::jthread const producer([&] {
        for (int i = 0; i < 5; ++i) {
          try {
            pool.enqueue(jobs.make());
          } catch (rubato::cancelled const&) { // NOLINT(bugprone-empty-catch): refused, and so dropped
          }
          first = true;
        }
      });
      ASSERT_TRUE(eventually([&] { return first.load(); }));
      pool.request_shutdown(rubato::discard);
      worker.open();
      pool.shutdown(rubato::discard);
      pool.resize(1); // whatever the producer still brings runs here
    }
    EXPECT_TRUE(jobs.balance());
    EXPECT_EQ(jobs.submitted(), 5);
  }
}

TEST(max_queued, of_one_is_enough_for_joins_in_tasks) {
  std::atomic<int> right = 0;
  rubato::pool pool(limited(2, 1));
  for (int i = 0; i < 50; ++i) {
    pool.enqueue([&] {
      auto const [a, b] = rubato::join([] { return 1; }, [] { return 2; });
      right += a + b == 3;
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(right, 50);
}

} // namespace
