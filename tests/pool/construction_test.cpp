// How a pool comes to be, and how many workers it has then.
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <type_traits>

#include "support/threads.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

// Initialised by the compiler: they can be used by the constructor of any other static object.
constinit rubato::pool pool_at_namespace_scope;
constinit rubato::pool empty_pool_at_namespace_scope{rubato::no_workers};

static_assert(std::is_nothrow_default_constructible_v<rubato::pool>);
static_assert(!std::is_copy_constructible_v<rubato::pool>);
static_assert(!std::is_move_constructible_v<rubato::pool>, "tasks know their pool by its address");
static_assert(!std::is_convertible_v<unsigned, rubato::pool>);
static_assert(!std::is_convertible_v<rubato::no_workers_t, rubato::pool>);

TEST(construction, a_default_pool_starts_no_thread_before_its_use) {
  auto const before = thread_ids();
  rubato::pool pool;
  auto const after = thread_ids();
  EXPECT_TRUE(std::ranges::includes(before, after)) << "constructing it started a thread";
}

TEST(construction, a_default_pool_gets_a_worker_per_usable_cpu) {
  rubato::pool pool;
  std::atomic<bool> ran = false;
  pool.enqueue([&] { ran = true; });
  EXPECT_TRUE(eventually([&] { return ran.load(); }));
  EXPECT_EQ(pool.size(), rubato::usable_cpus());
}

TEST(construction, waiting_counts_as_first_use_and_returns) {
  rubato::pool pool;
  EXPECT_TRUE(pool.wait_idle());
}

TEST(construction, a_default_pool_never_used_can_be_destroyed) {
  auto pool = std::make_unique<rubato::pool>();
  pool.reset();
  rubato::pool shut_down_unused;
  shut_down_unused.shutdown();
}

TEST(construction, many_threads_may_be_the_first_user_at_once) {
  for (int round = 0; round < 50; ++round) {
    rubato::pool pool;
    rendezvous start(4);
    std::atomic<int> ran = 0;
    {
      std::vector<std::jthread> users;
      for (int i = 0; i < 4; ++i) {
        users.emplace_back([&] {
          EXPECT_TRUE(start.meet());
          pool.enqueue([&] { ++ran; });
        });
      }
    }
    ASSERT_TRUE(pool.wait_idle());
    ASSERT_EQ(ran, 4);
    ASSERT_EQ(pool.size(), rubato::usable_cpus());
  }
}

TEST(construction, a_constinit_pool_works) {
  std::atomic<bool> ran = false;
  pool_at_namespace_scope.enqueue([&] { ran = true; });
  EXPECT_TRUE(pool_at_namespace_scope.wait_idle());
  EXPECT_TRUE(ran);
}

TEST(construction, a_constinit_pool_works_once_it_is_resized) {
  EXPECT_EQ(empty_pool_at_namespace_scope.size(), 0u);
  std::atomic<bool> ran = false;
  empty_pool_at_namespace_scope.enqueue([&] { ran = true; });
  empty_pool_at_namespace_scope.resize(1);
  EXPECT_TRUE(eventually([&] { return ran.load(); }));
  empty_pool_at_namespace_scope.resize(0);
}

TEST(construction, no_workers_means_none_and_no_thread) {
  rubato::pool(1).wait_idle(); // the monitor, one for all pools, may stay
  auto const before = thread_ids();
  rubato::pool const tagged(rubato::no_workers);
  rubato::pool const optioned(rubato::pool_options().workers(rubato::no_workers));
  auto const after = thread_ids();
  EXPECT_TRUE(std::ranges::includes(before, after));
  EXPECT_EQ(tagged.size(), 0u);
  EXPECT_EQ(optioned.size(), 0u);
}

TEST(construction, n_workers_run_n_tasks_at_once) {
  for (unsigned workers : {1u, 2u, 3u, 8u, 33u}) {
    SCOPED_TRACE(workers);
    // Without spares there is no relief either: only seated workers run tasks.
    rubato::pool pool(rubato::pool_options().workers(workers).spares(0));
    EXPECT_EQ(pool.size(), workers);
    rendezvous all(workers);
    std::atomic<unsigned> met = 0;
    for (unsigned i = 0; i < workers; ++i) pool.enqueue([&] { met += all.meet(); });
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(met, workers);
  }
}

TEST(construction, pools_leave_no_threads_behind) {
  auto use_one = [] {
    rubato::pool pool(3);
    std::atomic<int> ran = 0;
    for (int i = 0; i < 10; ++i) pool.enqueue([&] { ++ran; });
    pool.wait_idle();
    EXPECT_EQ(ran, 10);
  };
  use_one(); // from here on there may be one monitor, for all pools
  auto const before = thread_ids().size();
  for (int i = 0; i < 50; ++i) use_one();
  EXPECT_TRUE(eventually([&] { return thread_ids().size() <= before; }))
      << before << " threads before, " << thread_ids().size() << " after";
}

TEST(construction, pools_live_side_by_side) {
  rubato::pool a(2), b(1), c(rubato::no_workers);
  std::atomic<int> in_a = 0, in_b = 0, in_c = 0;
  for (int i = 0; i < 100; ++i) {
    a.enqueue([&] { in_a += rubato::current_pool() == &a; });
    b.enqueue([&] { in_b += rubato::current_pool() == &b; });
    c.enqueue([&] { in_c += rubato::current_pool() == &c; });
  }
  for (auto* pool : {&a, &b, &c}) EXPECT_TRUE(pool->wait_idle());
  EXPECT_EQ(in_a, 100);
  EXPECT_EQ(in_b, 100);
  EXPECT_EQ(in_c, 100);
}

} // namespace
