// One worker: runs in the order of the posts, whichever thread posts.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <thread>
#include <vector>

#include "support/scale.hpp"
#include "support/waiting.hpp"

namespace {

using rubato::routine;
using rubato_test::eventually;
using rubato_test::scaled;

/// Judges the order of the runs. Each post has a number from before it and one from after it: if the latter
/// is below another post's first number, it came before that post, and so does its run.
class judge {
  std::atomic<std::uint64_t> numbers_{0};
  std::uint64_t newest_ = 0; // the highest first number of a post that has run

public:
  std::atomic<std::uint64_t> violations{0}, runs{0};

  struct post {
    std::uint64_t before = 0;
    std::atomic<std::uint64_t> after{0};
  };
  static constexpr std::uint64_t not_yet = std::numeric_limits<std::uint64_t>::max();

  void begin(post& p) {
    p.before = numbers_.fetch_add(1);
    p.after.store(not_yet, std::memory_order_relaxed);
  }
  void end(post& p) { p.after.store(numbers_.fetch_add(1), std::memory_order_relaxed); }
  /// By the worker.
  void runs_now(post const& p) {
    if (newest_ > p.after.load(std::memory_order_relaxed)) violations.fetch_add(1, std::memory_order_relaxed);
    newest_ = std::max(newest_, p.before);
    runs.fetch_add(1, std::memory_order_relaxed);
  }
};

/// A routine that posts itself again. The post takes effect when the callback returns: it has happened when
/// the worker begins its next run.
struct repeated {
  judge& of;
  rubato::pool& pool;
  judge::post*& last; ///< the worker's own, which has not ended
  std::atomic<bool>& stop;
  judge::post first{}; ///< the post from outside, which may end after the first run has begun
  judge::post own{};
  judge::post* latest = &first;
  routine r{[this](routine& self) {
    if (last != nullptr) of.end(*last);
    last = nullptr;
    of.runs_now(*latest);
    if (stop.load(std::memory_order_relaxed)) return;
    of.begin(own);
    last = latest = &own;
    self.post(pool);
  }};
};

/// `routines` of them, beside two threads that queue tasks, of which one waits for the worker each time.
void run_in_order(std::size_t routines, std::uint64_t runs) {
  // Without spares there is no relief, so that the worker is alone: it may be blocked for 10 ms in a lock of
  // the allocator, or of ThreadSanitizer, whose holder the system has preempted.
  rubato::pool pool(rubato::pool_options().workers(1).spares(0));
  judge of;
  judge::post* last = nullptr;
  std::atomic<bool> stop{false};
  std::deque<repeated> all;
  for (std::size_t i = 0; i != routines; ++i) all.emplace_back(of, pool, last, stop);
  auto const outside = [&](bool waits) {
    std::array<judge::post, 64> posts;
    std::array<std::atomic<bool>, 64> queued{};
    for (std::size_t i = 0; !stop.load(std::memory_order_relaxed); i = (i + 1) % posts.size()) {
      std::uint64_t const then = of.runs.load(std::memory_order_relaxed);
      while ((queued[i].load(std::memory_order_acquire) ||
              (waits && of.runs.load(std::memory_order_relaxed) == then)) &&
             !stop.load(std::memory_order_relaxed))
        std::this_thread::yield();
      if (stop.load(std::memory_order_relaxed)) break;
      queued[i].store(true, std::memory_order_relaxed);
      of.begin(posts[i]);
      pool.enqueue([&of, &p = posts[i], &q = queued[i], &last] {
        if (last != nullptr) of.end(*last);
        last = nullptr;
        of.runs_now(p);
        q.store(false, std::memory_order_release);
      });
      of.end(posts[i]);
    }
    EXPECT_TRUE(eventually([&] {
      for (auto const& q : queued)
        if (q.load(std::memory_order_acquire)) return false;
      return true;
    }));
  };
  std::jthread const flood(outside, false), shaken(outside, true);
  for (repeated& x : all) {
    of.begin(x.first);
    x.r.post(pool);
    of.end(x.first);
  }
  EXPECT_TRUE(eventually([&] { return of.runs.load(std::memory_order_relaxed) >= runs; }));
  stop = true;
  pool.wait_idle();
  EXPECT_EQ(of.violations, 0U);
}

TEST(routine_order, is_that_of_the_posts_with_few_routines) { run_in_order(3, scaled(500'000)); }
TEST(routine_order, is_that_of_the_posts_with_more_than_a_batch) { run_in_order(40, scaled(500'000)); }
TEST(routine_order, is_that_of_more_posts_than_a_queue_holds) { run_in_order(300, scaled(500'000)); }
TEST(routine_order, is_that_of_the_posts_with_many_routines) { run_in_order(5'000, scaled(500'000)); }

/// A thousand routines that post themselves until they are told to stop.
class endless {
  struct object {
    endless& of;
    routine r{[this](routine& self) {
      of.runs.fetch_add(1, std::memory_order_relaxed);
      if (!of.stop.load(std::memory_order_relaxed)) self.post(of.pool_);
    }};
  };
  rubato::pool& pool_;
  std::deque<object> all_;

public:
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> runs{0};

  explicit endless(rubato::pool& p)
      : pool_(p) {
    for (int i = 0; i != 1'000; ++i) all_.emplace_back(*this);
    for (object& x : all_) x.r.post(pool_);
  }
};

/// All threads take from the backlog of the only worker when the pool gets more workers.
TEST(routine_order, leaves_no_routine_behind_in_a_resized_pool) {
  rubato::pool pool(1);
  endless all(pool);
  for (int i = 0; i != 200; ++i) {
    std::uint64_t const then = all.runs;
    ASSERT_TRUE(eventually([&] { return all.runs > then + 500; }));
    pool.resize(i % 2 == 0 ? 3U : 1U);
  }
  all.stop = true;
  pool.wait_idle();
  EXPECT_EQ(pool.pending(), 0U);
  EXPECT_EQ(pool.stats().executed, all.runs);
}

/// While a routine blocks its thread, another thread all.runs the ones behind it.
TEST(routine_order, relief_takes_the_backlog) {
  rubato::pool pool(1);
  endless all(pool);
  ASSERT_TRUE(eventually([&] { return all.runs > 5'000; }));
  for (int i = 0; i != 5; ++i) {
    std::atomic<bool> done{false};
    pool.enqueue([&] { // it ends when enough others have run
      std::uint64_t const then = all.runs;
      done = eventually([&] { return all.runs > then + 2'000; });
    });
    ASSERT_TRUE(eventually([&] { return done.load(); }));
  }
  all.stop = true;
  pool.wait_idle();
  EXPECT_GT(pool.stats().relieved, 0U);
}

} // namespace
