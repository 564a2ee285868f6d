// Seats that open and close: what must run on one of them, and the threads that sat there.
#include <rubato/future.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>
#include <rubato/task.hpp>

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "sched/core/pool_core.hpp"
#include "support/hang_guard.hpp"
#include "support/scale.hpp"
#include "support/threads.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

/// Called once by a thread that is about to make a thread for a pool.
thread_local std::function<void()> before_a_thread_is_made;

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

TEST(seats, regression_tasks_in_an_inbox_are_pending) {
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

TEST(seats, regression_a_task_leaves_a_closed_and_busy_seat) {
  hang_guard const guard;
  rubato::pool pool(2);
  busy_seat const busy(pool);
  auto f = pool.spawn_on(1, [] { return 7; });
  pool.resize(1);
  EXPECT_EQ(f.get(), 7);
}

TEST(seats, regression_a_child_leaves_a_closed_and_busy_seat) {
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

TEST(seats, regression_a_coroutine_leaves_a_closed_and_busy_seat) {
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

TEST(seats, regression_no_task_is_lost_while_its_seat_closes) {
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

TEST(seats, regression_busy_threads_of_a_shrunken_pool_end_later) {
  hang_guard const guard;
  constexpr unsigned many = 40, few = 2;
  rubato::pool pool(rubato::pool_options().workers(1).spares(0)); // relief would keep a thread
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

/// The new size is known a moment before the seat is open: the task waits there, and goes to no other.
TEST(seats, regression_a_task_for_a_seat_about_to_open_runs_there) {
  hang_guard const guard;
  for (std::size_t round = 0, n = rubato_test::scaled(500); round != n; ++round) {
    rubato::pool pool(1);
    std::jthread const grows([&] { pool.resize(2); });
    while (pool.size() != 2) {
    }
    auto f = pool.spawn_on(1, [] {});
    while (!f.ready()) std::this_thread::yield();
    ASSERT_EQ(pool.stats().seats[1].executed, 1u) << "round " << round;
  }
}

/// While resize() makes the threads, events may call some as well: together they made one too many.
TEST(seats, regression_growth_with_queued_tasks_adds_no_extra) {
  hang_guard const guard;
  for (std::size_t round = 0, n = rubato_test::scaled(300); round != n; ++round) {
    rubato::pool pool(rubato::no_workers);
    {
      std::jthread const queues([&] {
        for (int i = 0; i != 100; ++i) pool.enqueue([] {});
      });
      pool.resize(2);
    }
    EXPECT_TRUE(pool.wait_idle());
    ASSERT_EQ(pool.stats().spares, 0u) << "round " << round;
  }
}

/// The thread that makes a spare may be interrupted before that runs, and the pool end meanwhile. Two rules
/// make the pool wait, and each is enough: the spare counts as active from the call on, and as not joined.
/// The test fails if both are left out.
TEST(seats, regression_the_end_waits_for_a_spare_in_the_making) {
  hang_guard const guard;
  rubato::pool pool(1);
  gate begun;
  rubato::promise<void> comes_back;
  pool.enqueue([&begun, f = comes_back.get_future()]() mutable { // its seat is vacant, and no thread idle
    begun.open();
    f.get();
  });
  begun.wait();
  ASSERT_TRUE(eventually([&] { return rubato::detail::core_of(pool)->idle_threads.vacant() == 1; }));
  gate being_made, go_on;
  std::jthread const queues([&] {
    before_a_thread_is_made = [&] {
      being_made.open();
      go_on.wait();
    };
    pool.enqueue([] {});
    before_a_thread_is_made = nullptr;
  });
  being_made.wait();
  comes_back.set_value();
  std::atomic<bool> ended{false};
  std::jthread const ends([&] {
    pool.shutdown(rubato::discard); // the task is dropped: nothing is left to do
    ended = true;
  });
  std::this_thread::sleep_for(100ms); // a pool that does not wait ends in a hundredth of that
  EXPECT_FALSE(ended);
  go_on.open();
}

} // namespace

/// Takes the library's call, with which the making of a thread begins.
extern "C" int pthread_attr_init(pthread_attr_t* attributes) noexcept {
  if (before_a_thread_is_made) std::exchange(before_a_thread_is_made, nullptr)();
  static auto const made =
      reinterpret_cast<int (*)(pthread_attr_t*)>(::dlsym(RTLD_NEXT, "pthread_attr_init"));
  return made(attributes);
}
