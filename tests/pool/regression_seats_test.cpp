// Seats that open and close: what must run on one of them, and the threads that sat there.
#include <rubato/future.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>
#include <rubato/task.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "pool/threads.hpp"
#include "pool/waiting.hpp"
#include "support/hang_guard.hpp"
#include "support/scale.hpp"

namespace {

using namespace pool_test;
using rubato_test::hang_guard;

/// The thread on seat 1 of a pool of two is blocked, without the pool's knowledge, until this ends.
class busy_seat {
  gate begun_, opened_;
  rubato::future<void> task_;

public:
  explicit busy_seat(rubato::pool& pool)
      : task_(pool.spawn_on(1, [this] {
        begun_.open();
        opened_.wait();
      })) {
    begun_.wait();
  }
  busy_seat(busy_seat const&) = delete;
  busy_seat& operator=(busy_seat const&) = delete;
  ~busy_seat() {
    opened_.open();
    task_.wait();
  }
};

TEST(regression_seats, tasks_in_an_inbox_are_pending) {
  rubato::pool pool(2);
  std::vector<rubato::future<void>> all;
  {
    busy_seat const busy(pool);
    for (int i = 0; i != 3; ++i) all.push_back(pool.spawn_on(1, [] {}));
    EXPECT_EQ(pool.pending(), 3u);
    EXPECT_EQ(pool.stats().queued, 3u);
  }
  for (auto& f : all) f.get();
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(pool.pending(), 0u);
}

TEST(regression_seats, a_task_leaves_a_closed_seat_whose_thread_is_busy) {
  hang_guard const guard;
  rubato::pool pool(2);
  busy_seat const busy(pool);
  auto f = pool.spawn_on(1, [] { return 7; });
  pool.resize(1);
  EXPECT_EQ(f.get(), 7);
}

TEST(regression_seats, a_child_of_a_scope_leaves_a_closed_seat_whose_thread_is_busy) {
  hang_guard const guard;
  rubato::pool pool(2);
  busy_seat const busy(pool);
  std::atomic<bool> ran = false;
  rubato::with_scope(pool, [&](rubato::scope& s) {
    s.spawn_on(1, [&] { ran = true; });
    pool.resize(1);
  });
  EXPECT_TRUE(ran);
}

TEST(regression_seats, a_coroutine_leaves_a_closed_seat_whose_thread_is_busy) {
  hang_guard const guard;
  rubato::pool pool(2);
  rubato::promise<int> given;
  auto wait_for_it = [](rubato::future<int> input) -> rubato::task<int> {
    int const x = co_await std::move(input);
    co_return x + 1;
  };
  auto f = pool.spawn_on(1, wait_for_it(given.get_future()));
  EXPECT_TRUE(pool.wait_idle());
  busy_seat const busy(pool);
  given.set_value(1); // queued on the busy seat
  pool.resize(1);
  EXPECT_EQ(f.get(), 2);
}

TEST(regression_seats, no_task_is_lost_while_its_seat_closes) {
  hang_guard const guard;
  constexpr unsigned spawners = 3, most = 8;
  for (std::size_t round = 0, rounds = rubato_test::scaled(30); round != rounds; ++round) {
    rubato::pool pool(most);
    std::atomic<bool> end = false;
    std::atomic<std::size_t> ran = 0;
    std::vector<std::thread> threads;
    std::vector<std::vector<rubato::future<void>>> spawned(spawners);
    for (unsigned i = 0; i != spawners; ++i)
      threads.emplace_back([&, i] {
        while (!end && spawned[i].size() < 20'000) try {
            spawned[i].push_back(
                pool.spawn_on(static_cast<unsigned>(spawned[i].size()) % most, [&] { ++ran; }));
          } catch (std::out_of_range const&) { // the pool is smaller at this moment
            std::this_thread::yield();
          }
      });
    for (unsigned i = 0; i != 30; ++i) {
      pool.resize(i % 2 == 0 ? 1 + i % 3 : most);
      std::this_thread::yield();
    }
    end = true;
    for (auto& t : threads) t.join();
    std::size_t all = 0;
    for (auto& some : spawned) {
      for (auto& f : some) f.get();
      all += some.size();
    }
    EXPECT_EQ(ran, all);
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(pool.pending(), 0u);
  }
}

TEST(regression_seats, threads_that_are_busy_when_the_pool_shrinks_end_after_their_task) {
  hang_guard const guard;
  constexpr unsigned many = 40, few = 2;
  rubato::pool pool(1);
  EXPECT_TRUE(pool.wait_idle());
  std::set<int> const before = thread_ids();
  pool.resize(many);
  std::atomic<bool> end = false;
  {
    std::atomic<unsigned> begun = 0, passed = 0;
    std::atomic<int> opened = 0; // all wake at once: none looks blocked afterwards
    for (unsigned i = 0; i != many; ++i)
      pool.enqueue([&] {
        ++begun;
        opened.wait(0);
        ++passed;
      });
    ASSERT_TRUE(eventually([&] { return begun == many; }));
    pool.resize(few);
    opened = 1;
    opened.notify_all();
    struct load { // so that no worker sleeps
      rubato::pool& pool;
      std::atomic<bool>& end;
      void operator()() const {
        if (!end) pool.enqueue(*this);
      }
    };
    for (unsigned i = 0; i != 2 * few; ++i) pool.enqueue(load{pool, end});
    EXPECT_TRUE(eventually([&] { return passed == many; }));
    EXPECT_TRUE(eventually([&] { return pool.stats().spares == 0; }));
    EXPECT_TRUE(eventually([&] { return thread_ids().size() < before.size() + few; }));
    end = true;
    EXPECT_TRUE(pool.wait_idle());
  }
  pool.resize(many); // they are made anew
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(pool.broadcast([](auto...) { return 1; }).size(), many);
}

} // namespace
