// A function once on each thread of a pool, for C++ and for C.
#include "c/support.hpp"
#include "support/pools.hpp"

#include <rubato/cancelled.hpp>
#include <rubato/join.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace rubato_test {
namespace {

struct thread_broadcast : testing::TestWithParam<unsigned> {
  hang_guard guard;
  rubato::pool pool{with_workers(GetParam()).spares(0)};
};
RUBATO_TEST_WITH_WORKERS(thread_broadcast, counts_with_workers);

TEST_P(thread_broadcast, runs_once_on_each_thread_in_order) {
  for (int round = 0; round != 20; ++round) {
    std::mutex m;
    std::set<std::thread::id> threads;
    std::vector<unsigned> const numbers = pool.broadcast(rubato::per_thread, [&] {
      std::lock_guard const lock(m);
      threads.insert(std::this_thread::get_id());
      return *rubato::current_worker();
    });
    EXPECT_EQ(threads.size(), GetParam());
    std::vector<unsigned> expected(GetParam());
    for (unsigned i = 0; i != GetParam(); ++i) expected[i] = i;
    EXPECT_EQ(numbers, expected);
  }
}

TEST_P(thread_broadcast, runs_beside_work_and_in_tasks) {
  std::atomic<bool> end{false};
  std::atomic<int> calls{0};
  std::function<void()> const busy = [&] { // task by task
    if (!end) pool.enqueue([&] { busy(); });
  };
  for (unsigned i = 0; i != 2 * GetParam(); ++i) pool.enqueue([&] { busy(); });
  std::vector<std::thread> callers;
  for (int i = 0; i != 3; ++i)
    callers.emplace_back([&] {
      for (int k = 0; k != 10; ++k) pool.broadcast(rubato::per_thread, [&] { ++calls; });
    });
  for (int k = 0; k != 10; ++k)
    pool.spawn([&] { pool.broadcast(rubato::per_thread, [&] { ++calls; }); }).get();
  for (auto& t : callers) t.join();
  end = true;
  pool.wait_idle();
  EXPECT_EQ(calls, 40 * static_cast<int>(GetParam()));
}

TEST_P(thread_broadcast, reaches_threads_that_wait_for_it) {
  for (int round = 0; round != 50; ++round)
    pool.spawn([&] {
          std::atomic<int> calls{0};
          rubato::with_scope([&](rubato::scope& s) {
            for (int i = 0; i != 3; ++i)
              s.spawn([&] { pool.broadcast(rubato::per_thread, [&] { ++calls; }); });
          });
          rubato::join([] { std::this_thread::yield(); },
                       [&] { pool.broadcast(rubato::per_thread, [&] { ++calls; }); });
          EXPECT_EQ(calls, 4 * static_cast<int>(GetParam()));
        })
        .get();
}

TEST_P(thread_broadcast, throws_after_all_calls) {
  std::atomic<unsigned> calls{0};
  EXPECT_THROW(pool.broadcast(rubato::per_thread,
                              [&] {
                                ++calls;
                                throw std::runtime_error("no");
                              }),
               std::runtime_error);
  EXPECT_EQ(calls, GetParam());
}

TEST_P(thread_broadcast, keeps_the_pool_busy_until_it_has_ended) {
  for (int round = 0; round != 20; ++round) {
    std::atomic<unsigned> calls{0};
    std::thread caller([&] { pool.broadcast(rubato::per_thread, [&] { ++calls; }); });
    caller.join();
    pool.wait_idle();
    EXPECT_EQ(calls, GetParam());
  }
}

TEST_P(thread_broadcast, loses_no_call_beside_resizes_and_shutdowns) {
  for (int round = 0; round != 20; ++round) {
    std::thread caller([&] {
      for (int i = 0; i != 20; ++i) {
        std::atomic<std::size_t> calls{0};
        try {
          EXPECT_EQ(pool.broadcast(rubato::per_thread, [&] { return ++calls; }).size(), calls);
        } catch (rubato::cancelled const&) { // the pool is closed, or has dropped a call
        }
      }
    });
    pool.resize(1);
    pool.resize(GetParam());
    if (round % 2 == 0)
      pool.shutdown(rubato::drain);
    else
      pool.shutdown(rubato::discard);
    caller.join();
    pool.resize(GetParam());
  }
}

TEST(c_broadcast, calls_and_queues_on_each_thread) {
  hang_guard const guard;
  rb_pool_options options = c_pool::options_for(5);
  options.spares = 0;
  c_pool const pool(options);
  std::vector<std::atomic<int>> calls(5);
  EXPECT_EQ(rb_broadcast(
                pool,
                [](void* arg, rb_worker* w) {
                  ++(*static_cast<std::vector<std::atomic<int>>*>(arg))[rb_worker_number(w)];
                },
                &calls),
            0);
  EXPECT_EQ(rb_spawn_broadcast(
                pool,
                [](void* arg, uint32_t position, uint32_t threads) {
                  EXPECT_EQ(threads, 5U);
                  return c_task::make([arg, position](rb_worker* w) {
                    EXPECT_EQ(rb_worker_number(w), position);
                    ++(*static_cast<std::vector<std::atomic<int>>*>(arg))[position];
                  });
                },
                &calls),
            0);
  EXPECT_EQ(rb_pool_wait_idle(pool, -1), 0);
  for (auto const& c : calls) EXPECT_EQ(c, 2);
}

} // namespace
} // namespace rubato_test
