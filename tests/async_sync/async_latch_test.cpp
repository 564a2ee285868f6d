// async_latch: opens once, for all, and is out of the way then.
#include "support/async_sync.hpp"

#include <memory>
#include <stdexcept>
#include <thread>

namespace {

using namespace rubato_test;

class async_latch : public on_workers {};
RUBATO_TEST_WITH_WORKERS(async_latch, all_counts);

rubato::task<> pass(rubato::async_latch& l, std::atomic<int>& passed, int const& published) {
  co_await l.wait();
  passed.fetch_add(published);
}

TEST_P(async_latch, lets_everybody_through_when_it_is_counted_down) {
  rubato::async_latch latch(3);
  std::atomic<int> passed{0};
  int published = 0; // not atomic: the latch publishes it
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 40; ++i) all.push_back(pool.spawn(pass(latch, passed, published)));
  let_all_wait(pool);
  latch.count_down(0);
  latch.count_down(2);
  EXPECT_FALSE(latch.try_wait());
  let_all_wait(pool);
  EXPECT_EQ(passed, 0);
  published = 1;
  latch.count_down();
  EXPECT_TRUE(latch.try_wait());
  get_all(all);
  EXPECT_EQ(passed, 40);
  pool.block_on(latch.wait()); // and later, at once
  latch.count_down(0);
}

TEST_P(async_latch, of_nothing_is_open) {
  rubato::async_latch latch(0);
  EXPECT_TRUE(latch.try_wait());
  pool.block_on(latch.wait());
}

TEST(async_latch, cannot_be_counted_below_zero) {
  rubato::async_latch latch(2);
  EXPECT_THROW(latch.count_down(3), std::logic_error);
  EXPECT_FALSE(latch.try_wait());
  latch.count_down(2);
  EXPECT_THROW(latch.count_down(), std::logic_error);
  EXPECT_TRUE(latch.try_wait());
}

/// The usual way to wait for children: the latch is in the waiter's frame and ends with it, at once.
TEST_P(async_latch, may_be_destroyed_by_a_released_waiter) {
  std::size_t const rounds = scaled(3'000);
  auto owns = [&](std::size_t round) -> rubato::task<> {
    auto done = std::make_unique<rubato::async_latch>(4);
    rubato::async_latch* const shared = done.get();
    for (int i = 0; i != 4; ++i) pool.spawn([shared] { shared->count_down(); }).detach();
    if (round % 2 == 0)
      co_await done->wait();
    else
      while (!done->try_wait()) co_await rubato::yield();
  };
  for (std::size_t i = 0; i != rounds; ++i) pool.block_on(owns(i));
}

TEST_P(async_latch, publishes_what_all_did_before_they_counted) {
  std::size_t const rounds = scaled(300);
  for (std::size_t round = 0; round != rounds; ++round) {
    constexpr int threads = 3;
    rubato::async_latch latch(threads);
    std::vector<int> written(threads, 0);
    auto sum = [&]() -> rubato::task<int> {
      co_await latch.wait();
      int s = 0;
      for (int const w : written) s += w;
      co_return s;
    };
    auto f = pool.spawn(sum());
    {
      std::vector<std::jthread> all;
      for (int t = 0; t != threads; ++t)
        all.emplace_back([&, t] {
          written[static_cast<std::size_t>(t)] = 1;
          latch.count_down();
        });
    }
    ASSERT_EQ(f.get(), threads);
  }
}

} // namespace
