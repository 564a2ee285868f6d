// A thread that waits runs only what it waits for: no foreign work on its stack, so no foreign locks
// either.
#include <gtest/gtest.h>

#include "support/jitter.hpp"
#include "support/lineage.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/telling_mutex.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/join.hpp>
#include <rubato/scope.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

using namespace rubato_test;

namespace {

// Not without workers: there a thread that waits has to run whatever there is, since no other thread will.
class waiting_threads : public on_workers {};
RUBATO_TEST_WITH_WORKERS(waiting_threads, counts_with_workers);

class parallel_waiters : public on_workers {};
RUBATO_TEST_WITH_WORKERS(parallel_waiters, counts_in_parallel);

/// One round: takes the lock, joins under it, lets go. Every so often the join gives others the time to take
/// its second half and then outlives its first one, so that the thread really waits while it holds the lock.
class locked_join {
public:
  void operator()(std::uint64_t round) {
    std::lock_guard const lock(mutex_);
    auto const forked_by = std::this_thread::get_id();
    bool const linger = round % 256 == 0;
    std::atomic<bool> taken{false};
    rubato::join(
        [&] {
          ++first_;
          if (!linger) return;
          auto const end = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
          while (!taken.load() && std::chrono::steady_clock::now() < end) {
          }
        },
        [&] {
          ++second_;
          if (std::this_thread::get_id() == forked_by) return;
          taken = true;
          if (linger) jitter::spin(std::chrono::microseconds(50));
        });
  }

  std::uint64_t firsts() const { return first_; }
  std::uint64_t seconds() const { return second_; }

private:
  telling_mutex mutex_;
  std::uint64_t first_ = 0; // both under the lock, by way of the join
  std::uint64_t second_ = 0;
};

/// Some of each kind of work that a waiting thread could be tempted by; all of it wants the lock.
std::uint64_t rounds() { return scaled(300'000); }

TEST_P(waiting_threads, run_no_stranger_under_a_lock_in_loops) {
  locked_join work;
  pool.run([&] { rubato::for_index(std::uint64_t{0}, rounds(), std::ref(work)); });
  EXPECT_EQ(work.firsts(), rounds());
  EXPECT_EQ(work.seconds(), rounds());
}

TEST_P(waiting_threads, run_no_stranger_under_a_lock_in_trees) {
  locked_join work;
  struct tree {
    static void grow(locked_join& work, std::uint64_t low, std::uint64_t high) {
      if (high - low == 1) return work(low);
      auto const middle = low + (high - low) / 2;
      rubato::join([&] { grow(work, low, middle); }, [&] { grow(work, middle, high); });
    }
  };
  pool.run([&] { tree::grow(work, 0, rounds() / 4 + 1); });
  EXPECT_EQ(work.firsts(), rounds() / 4 + 1);
  EXPECT_EQ(work.seconds(), work.firsts());
}

TEST_P(waiting_threads, run_no_stranger_under_a_lock_in_scopes) {
  locked_join work;
  auto const children = rounds() / 8 + 1;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      for (std::uint64_t i = 0; i != children; ++i) s.spawn([&work, i] { work(i); });
    });
  });
  EXPECT_EQ(work.firsts(), children);
  EXPECT_EQ(work.seconds(), children);
}

TEST_P(waiting_threads, run_no_stranger_under_a_lock_in_queued_tasks) {
  locked_join work;
  auto const tasks = rounds() / 8 + 1;
  for (std::uint64_t i = 0; i != tasks; ++i) pool.enqueue([&work, i] { work(i); });
  pool.wait_idle();
  EXPECT_EQ(work.firsts(), tasks);
  EXPECT_EQ(work.seconds(), tasks);
}

TEST_P(waiting_threads, run_no_stranger_under_a_lock_from_outside) {
  locked_join work;
  auto const each = rounds() / 32 + 1;
  std::vector<std::thread> threads;
  for (int t = 0; t != 4; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i != each; ++i) pool.run([&] { work(i); });
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(work.firsts(), 4 * each);
  EXPECT_EQ(work.seconds(), 4 * each);
}

TEST_P(waiting_threads, run_no_stranger_under_a_lock_across_loops) {
  telling_mutex mutex;
  std::uint64_t sum = 0;
  auto const locked = [&](int i) {
    std::lock_guard const lock(mutex);
    std::atomic<std::uint64_t> count{0};
    if (i % 2 == 0) {
      rubato::for_index(0, 8, [&](int) { ++count; });
    } else {
      rubato::with_scope([&](rubato::scope& s) {
        for (int k = 0; k != 8; ++k) s.spawn([&] { ++count; });
      });
    }
    sum += count;
  };
  int const rounds_here = static_cast<int>(scaled(20'000));
  pool.run([&] { rubato::for_index(0, rounds_here, locked); });
  EXPECT_EQ(sum, static_cast<std::uint64_t>(rounds_here) * 8);
}

TEST_P(waiting_threads, run_no_stranger_under_a_recursive_lock) {
  // With a recursive mutex a stranger would not block: it would walk in and see the holder's work half done.
  std::recursive_mutex mutex;
  bool half_done = false; // under the lock
  std::atomic<int> intruders{0};
  int const rounds_here = static_cast<int>(scaled(50'000));
  pool.run([&] {
    rubato::for_index(0, rounds_here, [&](int i) {
      std::lock_guard const lock(mutex);
      if (half_done) ++intruders;
      half_done = true;
      rubato::join([] {},
                   [&] {
                     if (i % 512 == 0) jitter::spin(std::chrono::microseconds(20));
                   });
      half_done = false;
    });
  });
  EXPECT_EQ(intruders.load(), 0);
}

/// Work of every kind, nested at random, each piece marked with its parent.
class family {
public:
  static void grow(lineage const* parent, int depth, std::uint32_t seed, std::atomic<std::uint64_t>& pieces) {
    lineage const self(parent);
    ++pieces;
    std::uint32_t const mixed = seed * 2654435761U;
    if (mixed % 16 == 0) jitter::spin(std::chrono::microseconds(mixed % 32));
    if (depth == 0) return;
    auto const child = [&, depth](std::uint32_t n) {
      grow(&self, depth - 1, mixed + n * 40503U + 1, pieces);
    };
    switch (mixed >> 30) {
    case 0:
    case 1:
      rubato::join([&] { child(0); }, [&] { child(1); });
      break;
    case 2:
      rubato::for_index(0U, 3U, child);
      break;
    default:
      rubato::with_scope([&](rubato::scope& s) {
        for (std::uint32_t n = 0; n != 3; ++n) s.spawn([&child, n] { child(n); });
      });
    }
  }
};

TEST_P(waiting_threads, run_only_descendants_of_what_is_there) {
  static_cast<void>(lineage::take_strangers());
  std::atomic<std::uint64_t> pieces{0};
  auto const trees = static_cast<std::uint32_t>(scaled(300));
  for (std::uint32_t tree = 0; tree != trees; ++tree) {
    pool.enqueue([&, tree] { family::grow(nullptr, 5, tree, pieces); });
  }
  std::vector<std::thread> outside;
  for (std::uint32_t t = 0; t != 3; ++t) {
    outside.emplace_back([&, t] {
      for (std::uint32_t tree = 0; tree != trees / 3; ++tree) {
        pool.run([&] { family::grow(nullptr, 5, 1'000'000 * (t + 1) + tree, pieces); });
      }
    });
  }
  for (auto& thread : outside) thread.join();
  pool.wait_idle();
  EXPECT_GE(pieces.load(), std::uint64_t{trees} * 32);
  EXPECT_EQ(lineage::take_strangers(), 0U);
}

TEST_P(parallel_waiters, run_no_queued_task_for_a_half_elsewhere) {
  // The thread waits for g, which another thread has, and the queue is full: this thread does not run it.
  arrivals ran;
  std::atomic<int> on_the_waiting_thread{0};
  pool.run([&] {
    auto const me = std::this_thread::get_id();
    milestone begun;
    rubato::join([&] { EXPECT_TRUE(begun.wait()); },
                 [&] {
                   begun.reach();
                   for (int i = 0; i != 200; ++i) {
                     pool.enqueue([&] {
                       if (std::this_thread::get_id() == me) ++on_the_waiting_thread;
                       ran.arrive();
                     });
                   }
                   EXPECT_TRUE(ran.wait_for(200));
                 });
  });
  EXPECT_EQ(on_the_waiting_thread.load(), 0);
}

TEST_P(parallel_waiters, keep_thread_locals_of_their_task_alone) {
  // What a task put into a thread-local before a join is there after it: no other task ran on this thread.
  static thread_local std::uint64_t mine = 0;
  std::atomic<int> disturbed{0};
  auto const tasks = scaled(20'000);
  pool.run([&] {
    rubato::for_index(std::size_t{0}, tasks, [&](std::size_t i) {
      mine = i + 1;
      rubato::join([] {},
                   [&] {
                     if (i % 128 == 0) jitter::spin(std::chrono::microseconds(20));
                   });
      if (mine != i + 1) ++disturbed;
    });
  });
  EXPECT_EQ(disturbed.load(), 0);
}

} // namespace
