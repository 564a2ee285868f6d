// async_semaphore: never more inside than permitted, no waiter forgotten, in order.
#include "support/async_sync.hpp"

#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

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
TEST_P(async_semaphore, may_be_destroyed_by_the_last_permits_taker) {
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

// Permits that a guard owns.

/// Expects that n permits are free, and no more.
void expect_free(rubato::async_semaphore& s, std::size_t n) {
  EXPECT_TRUE(s.try_acquire(n));
  EXPECT_FALSE(s.try_acquire());
  s.release(n);
}

rubato::task<> hold_for_ever(rubato::async_semaphore& s, std::size_t n) {
  auto const permits = co_await s.scoped_acquire(n);
  EXPECT_EQ(permits.count(), n);
  rubato::async_latch never_open(1);
  co_await never_open.wait();
}

TEST_P(async_semaphore, regression_failed_or_cut_holders_give_back) {
  rubato::async_semaphore s(3);
  auto const fails = [&s]() -> rubato::task<> {
    auto const permits = co_await s.scoped_acquire(2);
    throw rubato_test::failure(1);
  };
  auto const runs_late = [&s]() -> rubato::task<> {
    bool const in_time = co_await rubato::with_deadline(hold_for_ever(s, 3), 1ms);
    EXPECT_FALSE(in_time);
  };
  for (int i = 0; i != 4; ++i) {
    auto failed = pool.spawn(fails());
    EXPECT_EQ(outcome_of_get(failed), outcome::other);
    expect_free(s, 3);
    pool.block_on(runs_late());
    expect_free(s, 3);
    auto cut = pool.spawn(hold_for_ever(s, 2));
    let_all_wait(pool);
    cut.cancel();
    EXPECT_EQ(outcome_of_get(cut), outcome::cancelled);
    expect_free(s, 3);
  }
}

TEST(async_semaphore_static, regression_an_ending_pool_returns_all) {
  hang_guard const guard;
  for (bool const drains : {false, true}) {
    rubato::async_semaphore s(3);
    rubato::pool ends(2);
    std::vector<rubato::future<void>> kept;
    for (std::size_t const n : {3U, 2U, 1U}) { // one holds, two wait
      kept.push_back(ends.spawn(hold_for_ever(s, n)));
      let_all_wait(ends);
    }
    if (drains)
      ends.shutdown(rubato::drain);
    else
      ends.shutdown(rubato::discard);
    expect_free(s, 3);
  }
}

TEST_P(async_semaphore, guards_can_be_moved_and_released_early) {
  rubato::async_semaphore s(4);
  rubato::async_permits none;
  EXPECT_EQ(none.count(), 0U);
  none.release();
  {
    rubato::async_permits first = pool.block_on(s.scoped_acquire(3));
    expect_free(s, 1);
    rubato::async_permits second = std::move(first);
    EXPECT_EQ(first.count(), 0U); // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(second.count(), 3U);
    none = std::move(second);
    auto& self = none;
    none = std::move(self);
    EXPECT_EQ(none.count(), 3U);
  }
  expect_free(s, 1);
  rubato::async_permits one = pool.block_on(s.scoped_acquire());
  std::swap(none, one);
  EXPECT_EQ(none.count(), 1U);
  none = {};
  expect_free(s, 1);
  one.release();
  one.release();
  EXPECT_EQ(one.count(), 0U);
  expect_free(s, 4);
}

TEST_P(async_semaphore, no_permits_are_there_at_once) {
  rubato::async_semaphore s(0);
  EXPECT_TRUE(s.try_acquire(0));
  auto waits = pool.spawn(hold_for_ever(s, 2));
  let_all_wait(pool);
  EXPECT_TRUE(s.try_acquire(0));
  pool.block_on(s.acquire(0));
  EXPECT_EQ(pool.block_on(s.scoped_acquire(0)).count(), 0U);
  waits.cancel();
  EXPECT_EQ(outcome_of_get(waits), outcome::cancelled);
  expect_free(s, 0);
}

// Several permits at once.

rubato::task<> acquire_some(rubato::async_semaphore& s, std::size_t n, std::vector<std::size_t>& order) {
  static std::mutex several;
  co_await s.acquire(n);
  std::lock_guard const lock(several);
  order.push_back(n);
}

TEST_P(async_semaphore, serves_a_waiter_for_several_before_others) {
  rubato::async_semaphore s(2);
  std::vector<std::size_t> order;
  std::vector<rubato::future<void>> all;
  for (std::size_t const n : {5U, 1U, 2U}) {
    all.push_back(pool.spawn(acquire_some(s, n, order)));
    let_all_wait(pool);
  }
  EXPECT_FALSE(s.try_acquire()); // the two are kept for the first
  s.release(2);
  let_all_wait(pool);
  EXPECT_TRUE(order.empty());
  EXPECT_FALSE(s.try_acquire());
  s.release();
  let_all_wait(pool);
  EXPECT_EQ(order, std::vector<std::size_t>{5});
  s.release();
  let_all_wait(pool);
  EXPECT_EQ(order, (std::vector<std::size_t>{5, 1}));
  s.release(9);
  get_all(all);
  EXPECT_EQ(order, (std::vector<std::size_t>{5, 1, 2}));
  expect_free(s, 7);
}

TEST_P(async_semaphore, a_stopped_waiter_passes_its_permits_on) {
  rubato::async_semaphore s(0);
  std::vector<std::size_t> order;
  auto first = pool.spawn(acquire_some(s, 4, order));
  let_all_wait(pool);
  auto second = pool.spawn(acquire_some(s, 2, order));
  let_all_wait(pool);
  auto third = pool.spawn(acquire_some(s, 1, order));
  let_all_wait(pool);
  s.release(3);
  let_all_wait(pool);
  EXPECT_TRUE(order.empty());
  first.cancel();
  second.get();
  third.get();
  EXPECT_EQ(outcome_of_get(first), outcome::cancelled);
  expect_free(s, 0);
}

TEST_P(async_semaphore, a_losing_acquire_has_had_no_effect) {
  rubato::async_semaphore s(1);
  rubato::channel<int> c(1);
  auto const races = [&]() -> rubato::task<std::size_t> {
    auto any = rubato::when_any(s.scoped_acquire(3), c.receive());
    auto const won = co_await std::move(any);
    co_return won.index;
  };
  auto f = pool.spawn(races());
  let_all_wait(pool);
  EXPECT_FALSE(s.try_acquire()); // its only permit is kept for that waiter
  EXPECT_TRUE(c.try_send(7));
  EXPECT_EQ(f.get(), 1U);
  expect_free(s, 1);

  f = pool.spawn(races());
  let_all_wait(pool);
  s.release(2);
  EXPECT_EQ(f.get(), 0U);
  expect_free(s, 3); // the result was dropped
  EXPECT_TRUE(c.try_send(8));
  EXPECT_EQ(c.try_receive(), 8);
}

/// Different numbers, stops and races: no more than there are, and none lost.
TEST_P(async_semaphore, loses_no_permit_between_unequal_waiters) {
  constexpr std::size_t permits = 5;
  rubato::async_semaphore s(permits);
  std::atomic<std::size_t> held{0}, most{0};
  auto const use = [&](std::size_t n) {
    std::size_t const now = held.fetch_add(n) + n;
    for (std::size_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
  };
  auto const works = [&](std::size_t id, std::size_t rounds) -> rubato::task<> {
    rubato::channel<int> never(0);
    for (std::size_t i = 0; i != rounds; ++i) {
      std::size_t const n = 1 + (i * 7 + id) % permits;
      rubato::async_permits mine;
      if (i % 3 == 0) {
        auto any = rubato::when_any(s.scoped_acquire(n), never.receive(), s.scoped_acquire(permits));
        auto won = co_await std::move(any);
        mine = won.index == 0 ? std::get<0>(std::move(won.value)) : std::get<2>(std::move(won.value));
      } else {
        mine = co_await s.scoped_acquire(n);
      }
      use(mine.count());
      if (i % 4 == 0) co_await rubato::yield();
      held.fetch_sub(mine.count());
    }
  };
  for (std::size_t round = 0; round != scaled(20); ++round) {
    std::vector<rubato::future<void>> all;
    for (std::size_t id = 0; id != 6; ++id) all.push_back(pool.spawn(works(id, 40)));
    std::vector<rubato::future<void>> stopped;
    for (std::size_t id = 0; id != 3; ++id) stopped.push_back(pool.spawn(hold_for_ever(s, 1 + id)));
    for (auto& f : stopped) {
      f.cancel();
      EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
    }
    get_all(all);
    EXPECT_EQ(held, 0U);
    expect_free(s, permits);
  }
  EXPECT_LE(most, permits);
}

} // namespace
