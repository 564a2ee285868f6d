// Tasks, calls, futures and latches of the C interface.
#include "c/support.hpp"
#include "support/pools.hpp"

#include <rubato/thread_pool.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <set>
#include <thread>
#include <vector>

namespace rubato_test {
namespace {

struct c_tasks : testing::TestWithParam<unsigned> {
  hang_guard guard;
  c_pool pool{GetParam()};
};
RUBATO_TEST_WITH_WORKERS(c_tasks, counts_with_workers);

TEST_P(c_tasks, each_run_once) {
  constexpr int n = 500;
  std::vector<std::atomic<int>> ran(n);
  for (int i = 0; i != n; ++i)
    ASSERT_EQ(rb_enqueue(pool, c_task::make([&ran, i](rb_worker* w) {
                           if (w != nullptr) ++ran[static_cast<std::size_t>(i)];
                         }),
                         i % 2 == 0 ? RB_QUEUE_FIFO : RB_QUEUE_LIFO),
              0);
  EXPECT_EQ(rb_pool_wait_idle(pool, -1), 0);
  for (auto const& r : ran) EXPECT_EQ(r, 1);
}

TEST_P(c_tasks, are_freed_without_a_worker_if_the_pool_discards_them) {
  std::atomic<int> ran{0}, freed{0};
  std::atomic<bool> begun{false};
  for (unsigned i = 0; i != GetParam(); ++i)
    ASSERT_EQ(rb_enqueue(pool, c_task::make([&](rb_worker* w) {
                           if (w == nullptr) {
                             ++freed;
                             return;
                           }
                           begun = true;
                           while (rb_stop_requested(w) == 0) std::this_thread::yield();
                           ++ran;
                         }),
                         RB_QUEUE_FIFO),
              0);
  while (!begun) std::this_thread::yield();
  EXPECT_EQ(rb_pool_shutdown(pool, RB_DISCARD), 0);
  EXPECT_EQ(ran + freed, static_cast<int>(GetParam()));
  rb_task* const late = c_task::make([&](rb_worker* w) { freed += w == nullptr ? 100 : 0; });
  EXPECT_EQ(rb_enqueue(pool, late, RB_QUEUE_FIFO), -ECANCELED); // still the caller's
  late->run(late, nullptr);
  EXPECT_GE(freed, 100);
}

TEST_P(c_tasks, run_on_the_seat_that_is_named) {
  std::atomic<unsigned> ran{0};
  for (unsigned seat = 0; seat != GetParam(); ++seat)
    EXPECT_EQ(rb_enqueue_on(pool, seat, c_task::make([&](rb_worker*) { ++ran; })), 0);
  EXPECT_EQ(rb_pool_wait_idle(pool, -1), 0);
  EXPECT_EQ(ran, GetParam());
  rb_task* const refused = c_task::make([](rb_worker*) {});
  EXPECT_EQ(rb_enqueue_on(pool, GetParam(), refused), -ERANGE);
  refused->run(refused, nullptr);
}

TEST_P(c_tasks, run_on_the_thread_that_is_named) {
  std::atomic<unsigned> ran{0};
  auto const named = [&](unsigned number) {
    return c_task::make(
        [&ran, number](rb_worker* w) { ran += w != nullptr && rb_worker_number(w) == number ? 1U : 0U; });
  };
  rb_pool_options options = c_pool::options_for(GetParam());
  options.spares = 0; // numbers below the size
  c_pool const few(options);
  for (unsigned i = 0; i != 10 * GetParam(); ++i)
    EXPECT_EQ(rb_enqueue_to(few, i % GetParam(), named(i % GetParam())), 0);
  EXPECT_EQ(rb_pool_wait_idle(few, -1), 0);
  EXPECT_EQ(ran, 10 * GetParam());
  if (GetParam() != 0)
    on_worker(few, [&](rb_worker* w) { // to itself, and in its wait for a child
      unsigned const here = rb_worker_number(w);
      rb_scope scope;
      rb_scope_begin(w, &scope, RB_SCOPE_FIFO);
      rb_scope_spawn(&scope,
                     c_child::make([&](rb_worker*) { EXPECT_EQ(rb_enqueue_to(few, here, named(here)), 0); }));
      EXPECT_EQ(rb_scope_end(&scope), 0);
    });
  EXPECT_EQ(rb_pool_wait_idle(few, -1), 0);
  EXPECT_EQ(ran, 10 * GetParam() + (GetParam() != 0 ? 1 : 0));

  rb_task* const refused = named(0);
  EXPECT_EQ(rb_enqueue_to(few, GetParam(), refused), -ERANGE);
  EXPECT_EQ(rb_pool_shutdown(few, RB_DRAIN), 0);
  EXPECT_EQ(rb_enqueue_to(few, 0, refused), -ECANCELED);
  refused->run(refused, nullptr);
}

TEST_P(c_tasks, are_called_on_a_worker_and_at_once_within) {
  auto const here = std::this_thread::get_id();
  on_worker(pool, [&](rb_worker* w) {
    EXPECT_NE(std::this_thread::get_id(), here);
    auto const inside = std::this_thread::get_id();
    on_worker(pool, [&](rb_worker* again) {
      EXPECT_EQ(again, w);
      EXPECT_EQ(std::this_thread::get_id(), inside);
    });
  });
}

TEST_P(c_tasks, call_another_pool_and_back) {
  c_pool const other(1);
  std::atomic<int> calls{0};
  auto const there_and_back = [&] {
    on_worker(pool, [&](rb_worker*) {
      on_worker(other, [&](rb_worker* w) {
        EXPECT_EQ(rb_worker_pool(w), static_cast<rb_pool*>(other));
        on_worker(pool, [&](rb_worker*) { ++calls; });
      });
    });
  };
  std::vector<std::thread> threads;
  for (int i = 0; i != 3; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k != 50; ++k) there_and_back();
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(calls, 150);
}

TEST_P(c_tasks, are_run_one_by_one_by_a_task_that_asks) {
  on_worker(pool, [&](rb_worker* w) {
    std::atomic<int> ran{0};
    for (int i = 0; i != 20; ++i)
      EXPECT_EQ(rb_enqueue(pool, c_task::make([&](rb_worker*) { ++ran; }), RB_QUEUE_FIFO), 0);
    while (ran != 20)
      if (rb_run_one(w) == 0) std::this_thread::yield();
  });
}

TEST_P(c_tasks, regression_run_one_outlives_the_stop_around) {
  on_worker(pool, [&](rb_worker* w) {
    rb_scope scope;
    rb_scope_begin(w, &scope, RB_SCOPE_FIFO);
    rb_scope_spawn(&scope, c_child::make([&](rb_worker* child) {
      if (child == nullptr) return;
      rb_scope_stop(&scope);
      EXPECT_EQ(rb_stop_requested(child), 1);
      std::atomic<int> ran{0};
      EXPECT_EQ(rb_enqueue(pool, c_task::make([&](rb_worker* other) {
                             EXPECT_EQ(rb_stop_requested(other), 0);
                             ++ran;
                           }),
                           RB_QUEUE_FIFO),
                0);
      while (ran == 0)
        if (rb_run_one(child) == 0) std::this_thread::yield();
    }));
    rb_scope_end(&scope);
  });
}

TEST_P(c_tasks, make_futures) {
  rb_future* first = nullptr;
  std::array<int, 4> numbers{};
  ASSERT_EQ(rb_spawn(
                pool, [](void* arg) -> void* { return static_cast<int*>(arg) + 1; }, numbers.data(), &first),
            0);
  rb_future* second = nullptr;
  ASSERT_EQ(rb_future_then(
                first,
                [](void* arg, void* result) -> void* {
                  return static_cast<int*>(result) == static_cast<int*>(arg) + 1 ? static_cast<int*>(arg) + 2
                                                                                 : nullptr;
                },
                numbers.data(), &second),
            0);
  std::vector<std::thread> threads;
  for (int i = 0; i != 3; ++i)
    threads.emplace_back([&] {
      void* got = nullptr;
      EXPECT_EQ(rb_future_wait(second, &got), 0);
      EXPECT_EQ(got, &numbers[2]);
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(rb_future_is_ready(first), 1);
  EXPECT_EQ(rb_future_wait(first, nullptr), 0);
  rb_future_free(first);
  rb_future_free(second);
}

TEST_P(c_tasks, end_a_wait_for_a_future_in_time) {
  std::atomic<bool> go{false};
  rb_future* f = nullptr;
  ASSERT_EQ(rb_spawn(
                pool,
                [](void* arg) -> void* {
                  while (!*static_cast<std::atomic<bool>*>(arg)) std::this_thread::yield();
                  return nullptr;
                },
                &go, &f),
            0);
  EXPECT_EQ(rb_future_wait_for(f, 1000, nullptr), -ETIMEDOUT);
  EXPECT_EQ(rb_future_is_ready(f), 0);
  go = true;
  EXPECT_EQ(rb_future_wait_for(f, 60'000'000'000, nullptr), 0);
  rb_future_free(f);
}

TEST_P(c_tasks, regression_cancel_a_future_that_has_not_begun) {
  std::atomic<bool> go{false};
  std::atomic<unsigned> busy{0};
  for (unsigned i = 0; i != GetParam(); ++i)
    ASSERT_EQ(rb_enqueue(pool, c_task::make([&](rb_worker*) {
                           ++busy;
                           while (!go) std::this_thread::yield();
                         }),
                         RB_QUEUE_FIFO),
              0);
  while (busy != GetParam()) std::this_thread::yield();
  rb_future* f = nullptr;
  ASSERT_EQ(rb_spawn(pool, [](void*) -> void* { return nullptr; }, nullptr, &f), 0);
  rb_future_cancel(f);
  go = true;
  EXPECT_EQ(rb_future_wait(f, nullptr), -ECANCELED);
  rb_future_free(f);
  EXPECT_EQ(rb_pool_wait_idle(pool, -1), 0); // the tasks read what is here
}

TEST_P(c_tasks, open_a_latch) {
  for (int round = 0; round != 50; ++round) {
    rb_latch latch;
    ASSERT_EQ(rb_latch_init(&latch, 3), 0);
    EXPECT_EQ(rb_latch_is_open(&latch), 0);
    for (int i = 0; i != 3; ++i)
      ASSERT_EQ(
          rb_enqueue(pool, c_task::make([&](rb_worker*) { rb_latch_count_down(&latch, 1); }), RB_QUEUE_FIFO),
          0);
    rb_latch_wait(&latch);
    EXPECT_EQ(rb_latch_is_open(&latch), 1);
    rb_latch_destroy(&latch);
  }
  rb_latch open;
  ASSERT_EQ(rb_latch_init(&open, 0), 0);
  rb_latch_wait(&open);
  rb_latch_destroy(&open);
}

TEST_P(c_tasks, wait_for_a_latch_without_their_seat) {
  on_worker(pool, [&](rb_worker*) { // with one worker another thread takes the seat
    rb_latch latch;
    ASSERT_EQ(rb_latch_init(&latch, 1), 0);
    ASSERT_EQ(
        rb_enqueue(pool, c_task::make([&](rb_worker*) { rb_latch_count_down(&latch, 1); }), RB_QUEUE_FIFO),
        0);
    rb_latch_wait(&latch);
    rb_latch_destroy(&latch);
  });
}

TEST_P(c_tasks, leave_their_seat_in_a_blocking_region) {
  on_worker(pool, [&](rb_worker* w) {
    std::atomic<bool> ran{false};
    ASSERT_EQ(rb_enqueue(pool, c_task::make([&](rb_worker*) { ran = true; }), RB_QUEUE_FIFO), 0);
    void* const seat = rb_blocking_begin(w);
    while (!ran) std::this_thread::yield(); // as in the kernel
    rb_blocking_end(w, seat);
  });
}

} // namespace
} // namespace rubato_test
