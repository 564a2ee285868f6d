// A pool ends while its coroutines wait: their frames are destroyed, and what they were given is not lost.
#include "support/async_sync.hpp"
#include "support/with_workers.hpp"

#include <memory>
#include <optional>
#include <thread>

namespace {

using namespace rubato_test;

class pool_end : public testing::TestWithParam<unsigned> {
protected:
  hang_guard guard;
};
RUBATO_TEST_WITH_WORKERS(pool_end, all_counts);

struct things {
  rubato::async_mutex mutex;
  rubato::async_semaphore semaphore{0};
  rubato::async_latch latch{1};
  rubato::async_barrier barrier{100};
  rubato::channel<int> full{0}, empty{4};
  std::atomic<int> frames{0};
  std::atomic<int> resumed{0};
};

rubato::task<> wait_deep_inside(things& t, int what) {
  in_frame const here(t.frames);
  switch (what) {
  case 0:
    co_await t.mutex.acquire();
    break;
  case 1: {
    auto const lock = co_await t.mutex.scoped_lock();
    break;
  }
  case 2:
    co_await t.semaphore.acquire();
    break;
  case 3:
    co_await t.latch.wait();
    break;
  case 4:
    co_await t.barrier.arrive_and_wait();
    break;
  case 5: {
    bool const accepted = co_await t.full.send(1);
    EXPECT_FALSE(accepted);
    break;
  }
  default: {
    std::optional<int> const got = co_await t.empty.receive();
    EXPECT_FALSE(got);
  }
  }
  ++t.resumed;
}

rubato::async_generator<int> waits_in_a_generator(things& t, int what) {
  in_frame const here(t.frames);
  co_await wait_deep_inside(t, what);
  co_yield 1;
}

rubato::task<> wait_for(things& t, int what) {
  in_frame const here(t.frames);
  auto numbers = waits_in_a_generator(t, what);
  std::optional<int> const n = co_await numbers.next();
  EXPECT_TRUE(n);
}

/// Everything can still be used.
void expect_usable(things& t) {
  t.mutex.release();
  EXPECT_TRUE(t.mutex.try_acquire());
  t.semaphore.release();
  EXPECT_TRUE(t.semaphore.try_acquire());
  t.latch.count_down();
  EXPECT_FALSE(t.full.try_receive());
  EXPECT_TRUE(t.empty.try_send(1));
  EXPECT_EQ(t.empty.try_receive(), std::optional<int>(1));
}

/// Three coroutines wait for each thing when the pool ends. Returns their futures.
std::vector<rubato::future<void>> waits_until_end(things& t, unsigned workers, auto how) {
  EXPECT_TRUE(t.mutex.try_acquire());
  std::vector<rubato::future<void>> all;
  rubato::pool pool(rubato_test::with_workers(workers));
  for (int round = 0; round != 3; ++round)
    for (int what = 0; what != 7; ++what) all.push_back(pool.spawn(wait_for(t, what)));
  let_all_wait(pool);
  EXPECT_EQ(t.frames, 63);
  pool.shutdown(how);
  return all;
}

TEST_P(pool_end, of_a_drain_destroys_coroutines_that_wait) {
  things t;
  auto all = waits_until_end(t, GetParam(), rubato::drain);
  EXPECT_EQ(t.frames, 0);
  EXPECT_EQ(t.resumed, 0);
  for (auto& f : all) EXPECT_EQ(outcome_of_get(f), outcome::broken);
  expect_usable(t);
}

TEST_P(pool_end, of_a_discard_ends_their_waits) {
  things t;
  auto all = waits_until_end(t, GetParam(), rubato::discard);
  EXPECT_EQ(t.frames, 0);
  EXPECT_EQ(t.resumed, 6); // those that send or receive go on by value
  for (auto& f : all) EXPECT_NE(outcome_of_get(f), outcome::broken);
  expect_usable(t);
}

/// The lock goes to one coroutine after the other of a pool that ends, each of which is destroyed with it.
TEST_P(pool_end, locks_of_destroyed_coroutines_are_unlocked) {
  rubato::async_mutex m;
  rubato::async_latch never(1);
  std::atomic<int> frames{0};
  auto hold = [&]() -> rubato::task<> {
    in_frame const here(frames);
    auto const lock = co_await m.scoped_lock();
    co_await never.wait();
  };
  {
    rubato::pool pool(rubato_test::with_workers(GetParam()));
    std::vector<rubato::future<void>> all;
    for (int i = 0; i != 20; ++i) all.push_back(pool.spawn(hold()));
    let_all_wait(pool);
    EXPECT_FALSE(m.try_acquire());
    for (auto& f : all) f.detach();
  }
  EXPECT_EQ(frames, 0);
  EXPECT_TRUE(m.try_acquire());
}

/// The worker goes idle between the request and the end of the waits: it must not take them for stuck.
TEST_P(pool_end, regression_a_discard_asks_all_before_it_breaks_any) {
  if (GetParam() == 0) return;
  rubato::async_latch never(1);
  std::atomic<int> cancelled{0};
  auto wait = [&]() -> rubato::task<> {
    try {
      co_await never.wait();
    } catch (rubato::cancelled const&) {
      ++cancelled;
    }
  };
  rubato::pool pool(rubato_test::with_workers(GetParam()));
  auto waits = pool.spawn(wait());
  let_all_wait(pool);
  auto const of_pool = pool.run([] { return rubato::this_task_stop_token(); });
  // Runs after the pool has begun to end, and before the first wait is ended.
  std::stop_callback const on_stop(of_pool, [&] {
    std::atomic<bool> ran{false};
    pool.spawn([&] { ran = true; }).detach(); // dropped or run: a worker goes idle afterwards
    EXPECT_TRUE(pool.wait_idle());
  });
  pool.shutdown(rubato::discard);
  EXPECT_NE(outcome_of_get(waits), outcome::broken);
  EXPECT_EQ(cancelled, 1);
}

/// Given to coroutines that are ready when their pool discards: they have begun, and go on.
TEST_P(pool_end, leaves_usable_what_was_handed_over_before_a_discard) {
  if (GetParam() == 0) return;
  rubato::async_mutex m;
  rubato::async_semaphore s(0);
  rubato::pool other(1);
  std::atomic<int> frames{0}, got{0};
  auto take_lock = [&]() -> rubato::task<> {
    in_frame const here(frames);
    auto const lock = co_await m.scoped_lock();
    ++got;
  };
  auto take_permit = [&]() -> rubato::task<> {
    in_frame const here(frames);
    co_await s.acquire();
    ++got;
    s.release();
  };
  auto wait_elsewhere = [&]() -> rubato::task<> {
    auto const lock = co_await m.scoped_lock();
    co_await s.acquire();
  };
  std::vector<rubato::future<void>> all;
  rubato::future<void> gets_all;
  ASSERT_TRUE(m.try_acquire());
  {
    rubato::pool pool(rubato_test::with_workers(GetParam()));
    for (int i = 0; i != 5; ++i) {
      all.push_back(pool.spawn(take_lock()));
      all.push_back(pool.spawn(take_permit()));
    }
    let_all_wait(pool);
    gets_all = other.spawn(wait_elsewhere());
    let_all_wait(other);
    // No thread runs it, so that ready work stays queued until the pool discards.
    pool.resize(0);
    m.release();
    s.release(5);
    pool.shutdown(rubato::discard);
    EXPECT_EQ(frames, 0);
  }
  gets_all.get();
  for (auto& f : all) EXPECT_NE(outcome_of_get(f), outcome::broken);
  EXPECT_GE(got, 2); // a lock and a permit at least; a wait that has not ended by then is cancelled
  EXPECT_TRUE(m.try_acquire());
  for (int i = 0; i != 4; ++i) EXPECT_TRUE(s.try_acquire());
  EXPECT_FALSE(s.try_acquire());
}

/// A thread outside sends all the while.
TEST_P(pool_end, racing_threads_that_wake) {
  std::size_t const rounds = scaled(GetParam() > 7 ? 60 : 300);
  std::atomic<int> frames{0};
  jitter pauses(GetParam());
  for (std::size_t round = 0; round != rounds; ++round) {
    rubato::channel<int> c(round % 2);
    std::atomic<bool> over{false};
    std::atomic<long> sent{0}, got{0};
    auto receive_one = [&]() -> rubato::task<bool> {
      in_frame const here(frames);
      std::optional<int> const v = co_await c.receive();
      if (v) ++got;
      co_return v.has_value();
    };
    auto receive = [&]() -> rubato::task<> {
      in_frame const here(frames);
      for (bool more = true; more;) more = co_await receive_one();
    };
    {
      std::jthread const sends([&] {
        while (!over)
          if (c.try_send(1))
            ++sent;
          else
            std::this_thread::yield();
      });
      {
        rubato::pool pool(rubato_test::with_workers(GetParam()));
        for (int i = 0; i != 4; ++i) pool.spawn(receive()).detach();
        pauses.pause(std::chrono::microseconds(100));
        over = round % 4 == 0;
        if (round % 4 == 1) {
          c.close();
          over = true;
        }
        if (round % 4 == 2) pool.shutdown(rubato::discard);
      }
      over = true;
    }
    ASSERT_EQ(frames, 0);
    while (c.try_receive()) ++got;
    if (GetParam() == 0)
      ASSERT_LE(got, sent) << "in round " << round; // a receiver may have been dropped with its value
    else
      ASSERT_EQ(got, sent) << "in round " << round;
  }
}

} // namespace
