// async_semaphore: never more inside than permitted, no waiter forgotten, in order.
#include "support/async_sync.hpp"

#include <mutex>

#include <memory>
#include <thread>

namespace {

using namespace async_sync_test;

class async_semaphore : public on_workers {};
RUBATO_TEST_WITH_WORKERS(async_semaphore, all_counts);

rubato::task<> enter(rubato::async_semaphore& s, occupancy& inside, std::size_t rounds) {
  for (std::size_t i = 0; i != rounds; ++i) {
    co_await s.acquire();
    inside.enter();
    if (i % 4 == 0) co_await rubato::yield();
    inside.leave();
    s.release();
  }
}

TEST_P(async_semaphore, lets_in_no_more_than_permitted) {
  for (std::size_t const permits : {1U, 2U, 5U}) {
    rubato::async_semaphore s(permits);
    occupancy inside;
    std::vector<rubato::future<void>> all;
    for (int i = 0; i != 12; ++i) all.push_back(pool.spawn(enter(s, inside, scaled(500))));
    get_all(all);
    EXPECT_LE(inside.most(), static_cast<int>(permits));
    EXPECT_EQ(inside.inside(), 0);
    for (std::size_t i = 0; i != permits; ++i) EXPECT_TRUE(s.try_acquire());
    EXPECT_FALSE(s.try_acquire());
  }
}

rubato::task<> acquire_and_note(rubato::async_semaphore& s, std::vector<int>& order, int name) {
  static std::mutex several; // a release of many lets them go at the same time
  co_await s.acquire();
  std::lock_guard const lock(several);
  order.push_back(name);
}

TEST_P(async_semaphore, gives_to_waiters_and_keeps_the_rest) {
  rubato::async_semaphore s(0);
  std::vector<int> order;
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 6; ++i) {
    all.push_back(pool.spawn(acquire_and_note(s, order, i)));
    let_all_wait(pool);
  }
  s.release(0);
  let_all_wait(pool);
  EXPECT_TRUE(order.empty());
  for (int i = 0; i != 3; ++i) {
    s.release();
    let_all_wait(pool);
    EXPECT_FALSE(s.try_acquire());
    ASSERT_EQ(order.size(), static_cast<std::size_t>(i) + 1);
    EXPECT_EQ(order.back(), i);
  }
  s.release(5); // three wait, two are left
  get_all(all);
  EXPECT_EQ(order.size(), 6U);
  EXPECT_TRUE(s.try_acquire());
  EXPECT_TRUE(s.try_acquire());
  EXPECT_FALSE(s.try_acquire());
}

TEST_P(async_semaphore, is_fed_from_outside) {
  rubato::async_semaphore s(0);
  std::atomic<long> got{0};
  std::size_t const each = scaled(5'000);
  auto consume = [&]() -> rubato::task<> {
    for (std::size_t i = 0; i != each; ++i) {
      co_await s.acquire();
      got.fetch_add(1, std::memory_order_relaxed);
    }
  };
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 3; ++i) all.push_back(pool.spawn(consume()));
  std::vector<std::jthread> threads;
  for (int t = 0; t != 3; ++t)
    threads.emplace_back([&] {
      for (std::size_t left = each; left != 0;) {
        std::size_t const n = std::min<std::size_t>(left, 1 + left % 3);
        s.release(n);
        left -= n;
      }
    });
  get_all(all);
  EXPECT_EQ(got, static_cast<long>(3 * each));
  EXPECT_FALSE(s.try_acquire());
}

/// A semaphore as the way to learn that all have ended: the coroutine that gets the last permit destroys it.
TEST_P(async_semaphore, may_be_destroyed_by_the_receiver_of_the_last_permit) {
  std::size_t const rounds = scaled(2'000);
  for (std::size_t i = 0; i != rounds; ++i) {
    auto owns = [&]() -> rubato::task<> {
      auto done = std::make_unique<rubato::async_semaphore>(0);
      rubato::async_semaphore* const shared = done.get();
      for (int child = 0; child != 3; ++child) pool.spawn([shared] { shared->release(); }).detach();
      for (int child = 0; child != 3; ++child) co_await done->acquire();
    };
    pool.block_on(owns());
  }
}

} // namespace
