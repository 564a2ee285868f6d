// Joins, loops and scopes of the C interface.
#include "c/support.hpp"
#include "support/pools.hpp"

#include <rubato/thread_pool.hpp>

#include <atomic>
#include <cerrno>
#include <numeric>
#include <thread>
#include <vector>

namespace rubato_test {
namespace {

struct c_forks : testing::TestWithParam<unsigned> {
  hang_guard guard;
  c_pool pool{GetParam()};
};
RUBATO_TEST_WITH_WORKERS(c_forks, counts_with_workers);

struct fib_call {
  int n;
  long result = 0;
  static int run(void* arg, rb_worker* worker, int /*migrated*/) {
    auto& self = *static_cast<fib_call*>(arg);
    if (self.n < 2) {
      self.result = self.n;
      return 0;
    }
    fib_call a{self.n - 1}, b{self.n - 2};
    EXPECT_EQ(rb_join(worker, &run, &a, &run, &b), 0);
    self.result = a.result + b.result;
    return 0;
  }
};

TEST_P(c_forks, join_computes_fibonacci) {
  on_worker(pool, [](rb_worker* w) {
    fib_call call{18};
    fib_call::run(&call, w, 0);
    EXPECT_EQ(call.result, 2584);
  });
}

/// The same by the parts of a join.
struct pushed_fib {
  rb_job job{};
  int n;
  long result = 0;
  explicit pushed_fib(int number)
      : n(number) {
    job.run = [](rb_job* j, rb_worker* thief) {
      reinterpret_cast<pushed_fib*>(j)->compute(thief); // NOLINT: its first member
    };
  }
  void compute(rb_worker* w) {
    if (n < 2) {
      result = n;
      return;
    }
    pushed_fib a(n - 1), b(n - 2);
    bool const pushed = rb_push(w, &b.job) == 0;
    a.compute(w);
    if (!pushed || rb_pop(w, &b.job) == 1) b.compute(w);
    result = a.result + b.result;
  }
};

TEST_P(c_forks, push_and_pop_compute_fibonacci) {
  on_worker(pool, [](rb_worker* w) {
    pushed_fib f(18);
    f.compute(w);
    EXPECT_EQ(f.result, 2584);
  });
}

TEST_P(c_forks, a_pushed_job_is_run_by_a_thread_that_is_notified) {
  if (GetParam() == 1) GTEST_SKIP() << "no other thread";
  on_worker(pool, [&](rb_worker* w) {
    struct flagged {
      rb_job job{};
      std::atomic<bool> ran{false};
    } f;
    f.job.run = [](rb_job* j, rb_worker*) { reinterpret_cast<flagged*>(j)->ran = true; }; // NOLINT
    ASSERT_EQ(rb_push(w, &f.job), 0);
    rb_notify(w);
    while (!f.ran) std::this_thread::yield();
    EXPECT_EQ(rb_pop(w, &f.job), 0);
  });
}

TEST_P(c_forks, join_skips_the_second_half_if_the_first_fails) {
  on_worker(pool, [](rb_worker* w) {
    for (int i = 0; i != 100; ++i) {
      std::atomic<int> ran{0};
      int const skipped = rb_join(
          w, [](void*, rb_worker*, int) { return 1; }, nullptr,
          [](void* arg, rb_worker*, int) {
            ++*static_cast<std::atomic<int>*>(arg);
            return 0;
          },
          &ran);
      EXPECT_EQ(ran, skipped == RB_JOIN_SKIPPED ? 0 : 1);
    }
  });
}

TEST_P(c_forks, join_tells_whether_a_half_has_migrated) {
  on_worker(pool, [](rb_worker* w) {
    for (int i = 0; i != 300; ++i) {
      auto const half = [](void* arg, rb_worker* worker, int migrated) {
        EXPECT_EQ(worker != *static_cast<rb_worker**>(arg), migrated != 0);
        return 0;
      };
      rb_join(w, half, &w, half, &w);
    }
  });
}

TEST_P(c_forks, loops_cover_each_index_once) {
  for (uint64_t const n : {0U, 1U, 2U, 1000U, 50'000U})
    for (uint64_t const least : {0U, 1U, 7U, 5000U}) {
      std::vector<std::atomic<int>> seen(n);
      struct body {
        std::vector<std::atomic<int>>& seen;
        uint64_t n, least;
      } arg{seen, n, least};
      EXPECT_EQ(rb_for_range(
                    pool, n, least,
                    [](void* a, rb_worker*, uint64_t lo, uint64_t hi) {
                      auto& b = *static_cast<body*>(a);
                      EXPECT_TRUE(hi - lo >= b.least || hi == b.n);
                      for (; lo != hi; ++lo) ++b.seen[lo];
                    },
                    &arg),
                0);
      for (auto const& s : seen) ASSERT_EQ(s, 1);
    }
}

TEST_P(c_forks, scopes_wait_for_children_of_children) {
  for (int const order : {RB_SCOPE_FIFO, RB_SCOPE_LIFO})
    on_worker(pool, [&](rb_worker* w) {
      std::atomic<int> ran{0};
      rb_scope scope;
      rb_scope_begin(w, &scope, order);
      std::function<void(int)> const grow = [&](int depth) {
        ++ran;
        if (depth == 0) return;
        for (int i = 0; i != 3; ++i)
          rb_scope_spawn(&scope, c_child::make([&grow, depth](rb_worker*) { grow(depth - 1); }));
      };
      grow(5);
      EXPECT_EQ(rb_scope_end(&scope), 0);
      EXPECT_EQ(ran, 364);
    });
}

TEST_P(c_forks, scopes_are_opened_and_ended_outside) {
  std::atomic<int> ran{0};
  rb_scope scope;
  ASSERT_EQ(rb_scope_begin_on(pool, &scope, RB_SCOPE_FIFO), 0);
  for (int i = 0; i != 100; ++i)
    rb_scope_spawn(&scope, c_child::make([&](rb_worker* w) { ran += w != nullptr; }));
  rb_scope_wait(&scope);
  EXPECT_EQ(ran, 100);
  rb_scope_spawn(&scope, c_child::make([&](rb_worker*) { ++ran; }));
  EXPECT_EQ(rb_scope_end(&scope), 0);
  EXPECT_EQ(ran, 101);
}

TEST_P(c_forks, scopes_free_children_that_do_not_begin) {
  on_worker(pool, [&](rb_worker* w) {
    std::atomic<int> freed{0};
    rb_scope scope;
    rb_scope_begin(w, &scope, RB_SCOPE_LIFO);
    rb_scope_stop(&scope);
    for (int i = 0; i != 10; ++i)
      rb_scope_spawn(&scope, c_child::make([&](rb_worker* c) { freed += c == nullptr; }));
    EXPECT_EQ(rb_scope_end(&scope), 0); // the program's own stop
    EXPECT_EQ(freed, 10);
  });
}

TEST_P(c_forks, regression_a_stop_does_not_reach_an_unstopped_scope) {
  on_worker(pool, [&](rb_worker* w) {
    for (int const flag : {0, int{RB_SCOPE_UNSTOPPED}}) {
      std::atomic<int> begun{0};
      std::atomic<int> cut{0};
      rb_scope outer;
      rb_scope_begin(w, &outer, RB_SCOPE_LIFO);
      rb_scope_spawn(&outer, c_child::make([&](rb_worker* child) {
        rb_scope inner;
        rb_scope_begin(child, &inner, RB_SCOPE_FIFO | flag);
        rb_scope_stop(&outer);
        for (int i = 0; i != 10; ++i)
          rb_scope_spawn(&inner, c_child::make([&](rb_worker* c) {
            begun += c != nullptr && rb_stop_requested(c) == 0 ? 1 : 0;
          }));
        cut = rb_scope_end(&inner);
      }));
      rb_scope_end(&outer);
      EXPECT_EQ(begun, flag == 0 ? 0 : 10);
      EXPECT_EQ(cut, flag == 0 ? 1 : 0);
    }
  });
}

TEST(c_scopes, begin_the_newest_or_the_oldest_child_first) {
  hang_guard const guard;
  for (int const order : {RB_SCOPE_FIFO, RB_SCOPE_LIFO}) {
    rb_pool_options options = c_pool::options_for(1);
    options.spares = 0;
    c_pool const pool(options);
    on_worker(pool, [&](rb_worker* w) { // the only thread
      std::vector<int> begun;
      rb_scope scope;
      rb_scope_begin(w, &scope, order);
      for (int i = 0; i != 4; ++i)
        rb_scope_spawn(&scope, c_child::make([&begun, i](rb_worker*) { begun.push_back(i); }));
      rb_scope_end(&scope);
      EXPECT_EQ(begun, order == RB_SCOPE_FIFO ? (std::vector{0, 1, 2, 3}) : (std::vector{3, 2, 1, 0}));
    });
  }
}

} // namespace
} // namespace rubato_test
