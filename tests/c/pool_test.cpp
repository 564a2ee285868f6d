// Pools of the C interface: options, threads, numbers, ends.
#include "c/support.hpp"
#include "support/scale.hpp"

#include <rubato/thread_pool.hpp>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace rubato_test {
namespace {

/// Counts what a pool calls.
struct c_host {
  std::atomic<unsigned> started{0}, ended{0}, released{0}, made{0};
  unsigned may_make = ~0U;
  std::mutex guard;
  std::vector<std::thread> threads;
  std::vector<unsigned> numbers;
  std::vector<std::string> names;

  rb_pool_options options(unsigned workers) {
    rb_pool_options all = c_pool::options_for(workers);
    all.spares = 0;
    all.arg = this;
    all.on_start = [](void* arg, uint32_t) { ++static_cast<c_host*>(arg)->started; };
    all.on_exit = [](void* arg, uint32_t) { ++static_cast<c_host*>(arg)->ended; };
    all.release = [](void* arg) { ++static_cast<c_host*>(arg)->released; };
    return all;
  }
  static int make(void* arg, rb_thread* thread) {
    auto& self = *static_cast<c_host*>(arg);
    if (self.made == self.may_make) return -EAGAIN;
    ++self.made;
    char name[16];
    rb_thread_name(thread, name);
    std::lock_guard const lock(self.guard);
    self.numbers.push_back(rb_thread_number(thread));
    self.names.emplace_back(name);
    self.threads.emplace_back([thread] {
      EXPECT_EQ(rb_current(), nullptr);
      rb_thread_run(thread);
      EXPECT_EQ(rb_current(), nullptr);
    });
    return 0;
  }
  ~c_host() {
    for (std::thread& t : threads) t.join();
  }
};

struct c_pools : testing::Test {
  hang_guard guard;
};

TEST_F(c_pools, says_its_version) { EXPECT_EQ(rb_abi_version(), RB_ABI_VERSION); }

TEST_F(c_pools, refuses_wrong_options) {
  rb_pool* pool = nullptr;
  rb_pool_options options = RB_POOL_OPTIONS_INIT;
  options.workers = 5000;
  EXPECT_EQ(rb_pool_new(&options, &pool), -EINVAL);
  options = RB_POOL_OPTIONS_INIT;
  options.flags = 1U << 20U;
  EXPECT_EQ(rb_pool_new(&options, &pool), -EINVAL);
  options = RB_POOL_OPTIONS_INIT;
  options.size = sizeof options + 8;
  EXPECT_EQ(rb_pool_new(&options, &pool), -EINVAL);
  EXPECT_EQ(pool, nullptr);
}

TEST_F(c_pools, regression_releases_arg_once_if_it_cannot_be_made) {
  c_host host;
  rb_pool_options options = host.options(5000);
  rb_pool* pool = nullptr;
  EXPECT_EQ(rb_pool_new(&options, &pool), -EINVAL);
  EXPECT_EQ(host.released, 1U);
}

TEST_F(c_pools, keeps_defaults_of_fields_that_an_old_caller_lacks) {
  rb_pool_options options = RB_POOL_OPTIONS_INIT;
  options.workers = 1;
  options.size = offsetof(rb_pool_options, spares);
  options.spares = 77; // behind what the caller knows
  rb_pool* pool = nullptr;
  ASSERT_EQ(rb_pool_new(&options, &pool), 0);
  EXPECT_EQ(rb_pool_size(pool), 1U);
  EXPECT_GT(rb_pool_slots(pool), 1024U);
  EXPECT_EQ(rb_pool_free(pool), 0);
}

TEST_F(c_pools, starts_all_threads_and_ends_them) {
  c_host host;
  {
    rb_pool_options options = host.options(3);
    options.flags |= RB_POOL_START_ALL;
    c_pool const pool(options);
  }
  EXPECT_EQ(host.started, 3U);
  EXPECT_EQ(host.ended, 3U);
  EXPECT_EQ(host.released, 1U);
}

TEST_F(c_pools, lets_a_host_make_the_threads) {
  c_host host;
  {
    rb_pool_options options = host.options(4);
    options.flags |= RB_POOL_START_ALL;
    options.make_thread = &c_host::make;
    options.name = "host";
    c_pool const pool(options);
    EXPECT_EQ(host.numbers, (std::vector<unsigned>{0, 1, 2, 3}));
    EXPECT_EQ(host.names.back(), "host/3");
    for (int i = 0; i != 100; ++i) on_worker(pool, [&](rb_worker* w) { EXPECT_LT(rb_worker_number(w), 4U); });
  }
  EXPECT_EQ(host.started, 4U);
  EXPECT_EQ(host.ended, 4U);
  EXPECT_EQ(host.released, 1U);
}

TEST_F(c_pools, gives_the_error_of_a_host_that_makes_no_more_threads) {
  for (unsigned const most : {0U, 2U}) {
    c_host host;
    host.may_make = most;
    rb_pool_options options = host.options(4);
    options.flags |= RB_POOL_START_ALL;
    options.make_thread = &c_host::make;
    rb_pool* pool = nullptr;
    EXPECT_EQ(rb_pool_new(&options, &pool), -EAGAIN);
    EXPECT_EQ(host.started, most);
    EXPECT_EQ(host.ended, most);
    EXPECT_EQ(host.released, 1U);
  }
}

TEST_F(c_pools, does_with_fewer_threads_of_a_host_than_it_wants) {
  c_host host;
  host.may_make = 1;
  rb_pool_options options = host.options(3);
  options.make_thread = &c_host::make;
  c_pool const pool(options);
  on_worker(pool, [](rb_worker* w) { EXPECT_EQ(rb_worker_number(w), 0U); });
  EXPECT_EQ(host.made, 1U);
}

TEST_F(c_pools, restarts_with_a_hosts_threads) {
  c_host host;
  rb_pool_options options = host.options(2);
  options.make_thread = &c_host::make;
  c_pool const pool(options);
  on_worker(pool, [](rb_worker*) {});
  EXPECT_EQ(rb_pool_shutdown(pool, RB_DRAIN), 0);
  EXPECT_EQ(rb_call(pool, [](void*, rb_worker*) {}, nullptr), -ECANCELED);
  EXPECT_EQ(rb_pool_resize(pool, 3), 0);
  on_worker(pool, [](rb_worker* w) { EXPECT_LT(rb_worker_number(w), 3U); });
}

TEST_F(c_pools, counts_its_maker_as_worker_0) {
  c_host host;
  rb_pool_options options = host.options(3);
  options.flags |= RB_POOL_START_ALL | RB_POOL_JOINS_CALLER;
  {
    c_pool const pool(options);
    rb_worker* const me = rb_current();
    ASSERT_NE(me, nullptr);
    EXPECT_EQ(rb_worker_number(me), 0U);
    EXPECT_EQ(rb_worker_pool(me), static_cast<rb_pool*>(pool));
    std::thread([&] { EXPECT_EQ(rb_pool_leave(pool), -EPERM); }).join();
    std::thread([&] {
      on_worker(pool, [](rb_worker* w) {
        EXPECT_GE(rb_worker_number(w), 1U);
        EXPECT_LT(rb_worker_number(w), 3U);
      });
    }).join();
  }
  EXPECT_EQ(rb_current(), nullptr);
  EXPECT_EQ(host.started, 2U);
}

TEST_F(c_pools, is_driven_by_its_maker_if_that_is_its_only_worker) {
  rb_pool_options options = c_pool::options_for(1);
  options.spares = 0;
  options.flags |= RB_POOL_START_ALL | RB_POOL_JOINS_CALLER;
  c_pool const pool(options);
  bool ran = false;
  EXPECT_EQ(rb_enqueue(pool, c_task::make([&](rb_worker* w) { ran = w == rb_current(); }), RB_QUEUE_FIFO), 0);
  EXPECT_EQ(rb_run_one(rb_current()), 1);
  EXPECT_TRUE(ran);
  EXPECT_EQ(rb_run_one(rb_current()), 0);
}

TEST_F(c_pools, keeps_the_lowest_numbers_for_its_own_threads) {
  rb_pool_options options = c_pool::options_for(3);
  options.spares = 0;
  c_pool const pool(options);
  EXPECT_EQ(rb_run(pool, [](void*, rb_worker* w) { EXPECT_GE(rb_worker_number(w), 3U); }, nullptr), 0);
  for (int i = 0; i != 100; ++i) on_worker(pool, [](rb_worker* w) { EXPECT_LT(rb_worker_number(w), 3U); });
}

TEST_F(c_pools, is_not_freed_by_its_own_task_but_released) {
  c_host host;
  rb_pool_options options = host.options(2);
  c_pool pool(options);
  rb_pool* const handle = pool.give_up();
  EXPECT_EQ(rb_enqueue(handle, c_task::make([handle](rb_worker*) {
                         EXPECT_EQ(rb_pool_free(handle), -EDEADLK);
                         EXPECT_EQ(rb_pool_shutdown(handle, RB_DRAIN), -EDEADLK);
                         EXPECT_EQ(rb_pool_release(handle), 0);
                       }),
                       RB_QUEUE_FIFO),
            0);
  while (host.released == 0) std::this_thread::yield();
  EXPECT_EQ(host.started, host.ended);
}

TEST_F(c_pools, runs_what_is_queued_when_it_is_released) {
  c_host host;
  rb_pool_options const options = host.options(1);
  std::atomic<int> ran{0};
  c_pool pool(options);
  for (int i = 0; i != 100; ++i)
    EXPECT_EQ(rb_enqueue(pool, c_task::make([&](rb_worker* w) { ran += w != nullptr; }), RB_QUEUE_FIFO), 0);
  EXPECT_EQ(rb_pool_release(pool.give_up()), 0);
  while (host.released == 0) std::this_thread::yield();
  EXPECT_EQ(ran, 100);
}

TEST_F(c_pools, is_the_global_pool_of_cpp) {
  rb_pool* pool = nullptr;
  ASSERT_EQ(rb_pool_global(&pool), 0);
  EXPECT_EQ(rb_pool_configure_global(nullptr), -EBUSY);
  on_worker(pool, [&](rb_worker* w) {
    EXPECT_EQ(rubato::current_pool(), &rubato::pool::global());
    EXPECT_EQ(rb_worker_pool(w), pool);
  });
}

TEST_F(c_pools, waits_until_it_is_idle) {
  c_pool const pool(1);
  std::atomic<bool> go{false};
  EXPECT_EQ(rb_enqueue(pool, c_task::make([&](rb_worker*) {
                         while (!go) std::this_thread::yield();
                       }),
                       RB_QUEUE_FIFO),
            0);
  EXPECT_EQ(rb_pool_wait_idle(pool, 1000), -ETIMEDOUT);
  go = true;
  EXPECT_EQ(rb_pool_wait_idle(pool, -1), 0);
  on_worker(pool, [&](rb_worker*) { EXPECT_EQ(rb_pool_wait_idle(pool, -1), -EDEADLK); });
}

TEST_F(c_pools, tells_an_old_caller_the_counters_that_it_knows) {
  c_pool const pool(1);
  on_worker(pool, [](rb_worker*) {});
  EXPECT_EQ(rb_pool_wait_idle(pool, -1), 0);
  rb_stats all{};
  all.size = sizeof all;
  EXPECT_EQ(rb_pool_stats(pool, &all), 0);
  EXPECT_EQ(all.size, sizeof all);
  EXPECT_EQ(all.executed, 1U);
  rb_stats few{};
  few.size = offsetof(rb_stats, spawned);
  few.spawned = 12345;
  EXPECT_EQ(rb_pool_stats(pool, &few), 0);
  EXPECT_EQ(few.executed, 1U);
  EXPECT_EQ(few.spawned, 12345U);
}

} // namespace
} // namespace rubato_test
