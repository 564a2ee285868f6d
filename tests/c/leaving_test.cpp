// Threads of a pool that go or do not come, and what was meant for them: calls, queued tasks, bound tasks.
#include "c/support.hpp"
#include "support/scale.hpp"

#include <atomic>
#include <cerrno>
#include <memory>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace rubato_test {
namespace {

struct c_leaving : testing::Test {
  hang_guard guard;
  std::atomic<unsigned> calls{0};

  static rb_pool_options joined(unsigned workers) {
    rb_pool_options options = c_pool::options_for(workers);
    options.spares = 0;
    options.flags |= RB_POOL_JOINS_CALLER;
    return options;
  }
  static void count_call(void* arg, rb_worker*) { ++static_cast<c_leaving*>(arg)->calls; }
  static rb_task* make_call(void* arg, uint32_t, uint32_t) {
    return c_task::make([arg](rb_worker* w) {
      if (w != nullptr) count_call(arg, w);
    });
  }
};

TEST_F(c_leaving, regression_runs_its_calls_before_it_leaves) {
  for (bool const frees : {false, true}) {
    c_pool pool(joined(2));
    calls = 0;
    std::thread([&] { EXPECT_EQ(rb_spawn_broadcast(pool, &make_call, this), 0); }).join();
    if (!frees) {
      EXPECT_EQ(rb_pool_leave(pool), 0);
      EXPECT_EQ(rb_pool_wait_idle(pool, -1), 0);
    } else {
      EXPECT_EQ(rb_pool_free(pool.give_up()), 0);
    }
    EXPECT_EQ(calls, 2U);
  }
}

TEST_F(c_leaving, regression_another_thread_takes_its_place) {
  for (unsigned const workers : {1U, 2U}) {
    c_pool pool(joined(workers));
    calls = 0;
    for (int i = 0; i != 5; ++i)
      EXPECT_EQ(rb_enqueue(pool, c_task::make([&](rb_worker* w) { calls += w != nullptr; }), RB_QUEUE_FIFO),
                0);
    EXPECT_EQ(rb_pool_leave(pool), 0);
    EXPECT_EQ(rb_pool_wait_idle(pool, -1), 0);
    EXPECT_EQ(calls, 5U);
  }
}

TEST_F(c_leaving, regression_a_thread_that_drives_runs_its_calls) {
  c_pool const pool(1);
  rb_latch open;
  ASSERT_EQ(rb_latch_init(&open, 1), 0);
  std::atomic<bool> waits{false};
  EXPECT_EQ(rb_enqueue(pool, c_task::make([&](rb_worker*) {
                         waits = true;
                         rb_latch_wait(&open);
                       }),
                       RB_QUEUE_FIFO),
            0);
  while (!waits) std::this_thread::yield();
  EXPECT_EQ(rb_pool_resize(pool, 0), 0);
  for (int i = 0; i != 20; ++i) { // the thread takes calls as long as it waits, asleep or about to be
    calls = 0;
    EXPECT_EQ(rb_broadcast(pool, &count_call, this), 0);
    EXPECT_EQ(calls, 1U);
  }
  rb_latch_count_down(&open, 1);
  EXPECT_EQ(rb_pool_resize(pool, 1), 0);
  on_worker(pool, [](rb_worker*) {}); // the latch is in use until its waiter has gone on
  EXPECT_EQ(rb_pool_wait_idle(pool, -1), 0);
  rb_latch_destroy(&open);
}

/// The host makes one thread, and refuses the second one once it has been called.
struct refusing_host {
  std::atomic<unsigned> asked{0};
  std::atomic<bool> has_call{false};
  std::thread only;
  static int make(void* arg, rb_thread* thread) {
    auto& self = *static_cast<refusing_host*>(arg);
    if (self.asked++ == 0) {
      self.only = std::thread([thread] { rb_thread_run(thread); });
      return 0;
    }
    while (!self.has_call) std::this_thread::yield();
    return -EAGAIN;
  }
};

TEST_F(c_leaving, regression_a_thread_that_is_not_made_loses_no_call) {
  refusing_host host;
  {
    rb_pool_options options = c_pool::options_for(1);
    options.spares = 0;
    options.arg = &host;
    options.make_thread = &refusing_host::make;
    c_pool const pool(options);
    std::thread grows([&] { EXPECT_EQ(rb_pool_resize(pool, 2), 0); });
    while (host.asked != 2) std::this_thread::yield();
    EXPECT_EQ(rb_spawn_broadcast(pool, &make_call, this), 0);
    host.has_call = true;
    grows.join();
    EXPECT_EQ(rb_pool_wait_idle(pool, -1), 0);
    EXPECT_EQ(calls, 2U);
  }
  host.only.join();
}

TEST_F(c_leaving, regression_a_task_runs_what_is_bound_to_its_seat) {
  c_pool const pool(1);
  on_worker(pool, [&](rb_worker* w) {
    EXPECT_EQ(rb_enqueue_on(pool, 0, c_task::make([&](rb_worker* other) { calls += other == w; })), 0);
    while (calls == 0)
      if (rb_run_one(w) == 0) std::this_thread::yield();
  });
}

TEST_F(c_leaving, regression_a_caller_drives_a_pool_without_workers) {
  c_pool const pool(0U);
  EXPECT_EQ(rb_call(pool, &count_call, this), 0);
  EXPECT_EQ(calls, 1U);
}

TEST_F(c_leaving, regression_a_future_says_that_its_pool_ended) {
  rb_future* f = nullptr;
  {
    c_pool const pool(0U);
    ASSERT_EQ(rb_spawn(pool, [](void* arg) { return arg; }, nullptr, &f), 0);
  }
  EXPECT_EQ(rb_future_wait(f, nullptr), -ECANCELED);
  rb_future_free(f);
}

TEST_F(c_leaving, regression_does_not_leave_in_a_task_that_it_runs) {
  for (bool const waits : {false, true}) {
    c_pool const pool(joined(1));
    rb_scope scope;
    rb_scope_begin(rb_current(), &scope, RB_SCOPE_FIFO);
    auto const tries = [&](rb_worker*) {
      EXPECT_EQ(rb_pool_leave(pool), -EDEADLK);
      EXPECT_EQ(rb_pool_release(pool), -EDEADLK);
      EXPECT_EQ(rb_pool_free(pool), -EDEADLK);
      ++calls;
    };
    if (waits) {
      rb_scope_spawn(&scope, c_child::make(tries));
    } else {
      EXPECT_EQ(rb_enqueue(pool, c_task::make(tries), RB_QUEUE_FIFO), 0);
      EXPECT_EQ(rb_run_one(rb_current()), 1);
    }
    EXPECT_EQ(rb_scope_end(&scope), 0);
  }
  EXPECT_EQ(calls, 2U);
}

TEST_F(c_leaving, regression_is_freed_in_the_child_of_a_fork) {
  if (under_tsan) GTEST_SKIP() << "ThreadSanitizer does not follow a fork";
  c_pool const pool(joined(1));
  pid_t const child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(rb_pool_free(pool) == 0 ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

} // namespace
} // namespace rubato_test
