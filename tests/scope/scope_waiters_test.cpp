// Waits for the children of an open scope: by its opener in an inner scope, by other threads, by coroutines.
#include <rubato/future.hpp>
#include <rubato/join.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>
#include <rubato/spawn.hpp>
#include <rubato/task.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/pools.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

class scope_waiters : public on_workers {};
RUBATO_TEST_WITH_WORKERS(scope_waiters, all_counts);

rubato::task<int> read_after_join(rubato::scope& s, std::atomic<int>& x) {
  co_await s.join();
  co_return x.load();
}

/// A child that has not ended when a waiter looks too early.
auto slow_child(std::atomic<int>& x) {
  return [&x] {
    std::this_thread::sleep_for(5ms);
    x = 1;
  };
}

TEST_P(scope_waiters, regression_a_coroutine_joins_a_plain_scope) {
  for (int i = 0; i != 5; ++i) {
    std::atomic<int> x{0}, y{0};
    pool.run([&] {
      rubato::with_scope([&](rubato::scope& s) {
        s.spawn(slow_child(x));
        EXPECT_EQ(rubato::block_on(read_after_join(s, x)), 1);
      });
      // A task that the body returns is awaited.
      EXPECT_EQ(rubato::with_scope([&](rubato::scope& s) {
                  s.spawn(slow_child(y));
                  s.spawn([] {});
                  return read_after_join(s, y);
                }),
                1);
    });
  }
}

void nest(int depth, std::atomic<int>& ran) {
  if (depth == 0) return;
  rubato::with_scope([&](rubato::scope& outer) {
    outer.spawn([&ran, depth] {
      ++ran;
      nest(depth - 1, ran);
    });
    rubato::with_scope([&](rubato::scope&) { outer.wait(); });
  });
}

TEST_P(scope_waiters, regression_in_an_inner_scope_for_an_outer_one) {
  std::atomic<int> ran{0};
  pool.run([&] { nest(20, ran); });
  EXPECT_EQ(ran, 20);
}

TEST(lone_waiter, regression_in_an_inner_scope_without_spares) {
  hang_guard const guard;
  rubato::pool pool(rubato::pool_options().workers(1).spares(0));
  std::atomic<int> ran{0};
  pool.spawn([&] { nest(20, ran); }).get();
  EXPECT_EQ(ran, 20);
}

TEST(lone_waiter, regression_after_the_last_worker_has_left) {
  hang_guard const guard;
  rubato::pool pool(1);
  std::atomic<int> ran{0};
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& outer) {
      outer.spawn([&] { ++ran; });
      pool.resize(0);
      rubato::with_scope([&](rubato::scope&) { outer.wait(); });
    });
  });
  EXPECT_EQ(ran, 1);
}

TEST_P(scope_waiters, regression_a_foreign_thread_waits_above_a_fork) {
  std::atomic<int> ran{0};
  pool.run([&] {
    rubato::join(
        [&] {
          rubato::with_scope([&](rubato::scope& s) {
            s.spawn([&] { ++ran; });
            std::thread([&] {
              s.wait();
              EXPECT_EQ(ran, 1);
            }).join();
          });
        },
        [] {});
  });
  EXPECT_EQ(ran, 1);
}

/// Queues itself again until it is told to end.
struct flood {
  rubato::pool& to;
  std::atomic<bool> over{false};
  std::atomic<int> turns{0};

  void operator()() {
    ++turns;
    if (!over) to.enqueue([this] { (*this)(); });
  }
};

TEST(lone_waiter, regression_a_first_child_begins_beside_a_flood) {
  hang_guard const guard;
  rubato::pool pool(2);
  flood all{pool};
  for (int i = 0; i != 4; ++i) pool.enqueue([&] { all(); });
  while (all.turns < 1'000) std::this_thread::yield();
  for (bool const asks_the_scope : {false, true})
    pool.spawn([&] {
          rubato::with_scope([&](rubato::scope& s) {
            rubato::promise<int> made;
            rubato::future<int> wanted = made.get_future();
            s.spawn([&] { made.set_value(3); });
            if (asks_the_scope)
              rubato::with_scope([&](rubato::scope&) { s.wait(); });
            else
              EXPECT_EQ(wanted.get(), 3);
          });
        })
        .get();
  all.over = true;
  EXPECT_TRUE(pool.wait_idle());
}

/// The opener leapfrogs to the half h of a join that another thread runs, and h spawns into the scope.
TEST_P(scope_waiters, regression_a_leapfrogged_half_spawns_into_it) {
  for (int i = 0; i != 10; ++i)
    pool.run([&] {
      std::atomic<int> ran{0};
      rubato::with_scope([&](rubato::scope& s) {
        std::atomic<bool> g{false}, h{false};
        auto const soon = [](std::atomic<bool>& b) {
          auto const end = std::chrono::steady_clock::now() + 5ms;
          while (!b && std::chrono::steady_clock::now() < end) {
          }
        };
        rubato::join([&] { soon(g); },
                     [&] {
                       g = true;
                       rubato::join([&] { soon(h); },
                                    [&] {
                                      h = true;
                                      s.spawn([&] { ++ran; });
                                    });
                     });
      });
      EXPECT_EQ(ran, 1);
    });
}

} // namespace
