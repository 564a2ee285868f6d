// The first child of a scope is a job of its opener's chain. Wherever the job lies, and whichever thread gets
// it, the child begins once, and every wait for the scope includes it.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace rubato_test;

namespace {

class scope_forks : public on_workers {};
RUBATO_TEST_WITH_WORKERS(scope_forks, all_counts);

class scope_forks_with_workers : public on_workers {};
RUBATO_TEST_WITH_WORKERS(scope_forks_with_workers, counts_with_workers);

class scope_forks_alone : public on_workers {};
RUBATO_TEST_WITH_WORKERS(scope_forks_alone, counts_alone);

std::size_t leaves(unsigned depth) {
  if (depth == 0) return 1;
  std::size_t left = 0, right = 0;
  rubato::with_scope([&](rubato::scope& s) {
    s.spawn([&] { left = leaves(depth - 1); });
    right = leaves(depth - 1);
  });
  return left + right;
}

TEST_P(scope_forks, make_a_tree) {
  for (std::size_t round = 0, n = scaled(20); round != n; ++round)
    EXPECT_EQ(pool.run([] { return leaves(10); }), 1024U);
}

TEST_P(scope_forks_alone, begin_in_the_order_of_their_spawns) {
  std::vector<int> order;
  on_only_thread(pool, [&] {
    rubato::with_scope([&](rubato::scope& s) {
      for (int i = 0; i != 5; ++i) s.spawn([&order, i] { order.push_back(i); });
      s.wait();
      for (int i = 5; i != 10; ++i) s.spawn([&order, i] { order.push_back(i); });
    });
  });
  EXPECT_EQ(order, std::vector<int>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_P(scope_forks, lie_below_the_job_of_a_join) {
  std::atomic<int> ran{0};
  for (std::size_t round = 0, n = scaled(200); round != n; ++round)
    pool.run([&] {
      rubato::with_scope([&](rubato::scope& s) {
        s.spawn([&] { ++ran; });
        rubato::join([&] { s.spawn([&] { ++ran; }); }, [&] { s.spawn([&] { ++ran; }); });
        s.wait();
        s.spawn([&] { ++ran; });
      });
    });
  EXPECT_EQ(ran, 4 * static_cast<int>(scaled(200)));
}

TEST_P(scope_forks_with_workers, end_at_a_wait_in_an_inner_scope) {
  // There the opener cannot get at the outer scope's child: another thread has to run it.
  for (std::size_t round = 0, n = scaled(20); round != n; ++round)
    pool.run([] {
      std::atomic<bool> outer_ran{false}, inner_ran{false};
      rubato::with_scope([&](rubato::scope& outer) {
        outer.spawn([&] { outer_ran = true; });
        rubato::with_scope([&](rubato::scope& inner) {
          inner.spawn([&] { inner_ran = true; });
          outer.wait();
          EXPECT_TRUE(outer_ran);
        });
        EXPECT_TRUE(inner_ran);
      });
    });
}

TEST_P(scope_forks_with_workers, end_before_another_thread_returns) {
  // The opener blocks meanwhile, and the pool does not know.
  for (std::size_t round = 0, n = scaled(50); round != n; ++round)
    pool.run([&] {
      bool ran = false;
      rubato::with_scope([&](rubato::scope& s) {
        s.spawn([&] { ran = true; });
        std::thread([&] {
          s.wait();
          EXPECT_TRUE(ran);
        }).join();
      });
    });
}

TEST_P(scope_forks_with_workers, wake_another_thread_that_waits) {
  // It waits while the opener is busy, and then runs the child itself.
  for (std::size_t round = 0, n = scaled(200); round != n; ++round)
    pool.run([&] {
      std::atomic<bool> begun{false};
      std::thread other;
      rubato::with_scope([&](rubato::scope& outer) {
        outer.spawn([] {});
        rubato::join(
            [&] {
              other = std::thread([&] {
                begun = true;
                outer.wait();
              });
              while (!begun) std::this_thread::yield();
            },
            [] {});
        outer.wait();
        other.join();
      });
    });
}

TEST_P(scope_forks_with_workers, run_while_their_opener_waits) {
  pool.run([] {
    rubato::promise<int> made;
    rubato::future<int> wanted = made.get_future();
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn([&] { made.set_value(3); });
      EXPECT_EQ(wanted.get(), 3);
    });
  });
}

TEST_P(scope_forks_with_workers, run_while_their_opener_blocks) {
  pool.run([] {
    milestone ran;
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn([&] { ran.reach(); });
      rubato::blocking([&] { EXPECT_TRUE(ran.wait()); });
    });
  });
}

TEST_P(scope_forks, do_not_begin_when_the_body_fails) {
  leak_check const leaks;
  for (std::size_t round = 0, n = scaled(100); round != n; ++round) {
    std::atomic<bool> thrown{false}, late{false};
    EXPECT_THROW(pool.run([&] {
      rubato::with_scope([&](rubato::scope& s) {
        s.request_stop();
        thrown = true;
        s.spawn([&, owned = counted(1)] { late = thrown.load(); });
        throw std::runtime_error("body");
      });
    }),
                 std::runtime_error);
    EXPECT_FALSE(late);
    EXPECT_THROW(pool.run([&] {
      rubato::with_scope([&](rubato::scope& s) {
        s.spawn([&, owned = counted(1)] {});
        throw std::runtime_error("body");
      });
    }),
                 std::runtime_error);
  }
}

TEST_P(scope_forks, pass_on_their_exceptions) {
  leak_check const leaks;
  for (std::size_t round = 0, n = scaled(100); round != n; ++round)
    EXPECT_THROW(pool.run([] {
      rubato::with_scope([](rubato::scope& s) {
        s.spawn([] { throw std::runtime_error("child"); });
        static_cast<void>(leaves(3));
      });
    }),
                 std::runtime_error);
}

TEST_P(scope_forks, of_a_stopped_scope_do_not_begin) {
  pool.run([] {
    bool ran = false, cut = false;
    rubato::with_scope([&](rubato::scope& outer) {
      try {
        rubato::with_scope([&](rubato::scope& inner) {
          outer.request_stop();
          inner.spawn([&] { ran = true; });
        });
      } catch (rubato::cancelled const&) {
        cut = true;
      }
    });
    EXPECT_FALSE(ran);
    EXPECT_TRUE(cut);
  });
}

TEST_P(scope_forks, nest_deeper_than_a_chain_is_long) {
  struct nest {
    static int down(int left) {
      if (left == 0) return 0;
      int below = 0, child = 0;
      rubato::with_scope([&](rubato::scope& s) {
        s.spawn([&] { child = 1; });
        below = down(left - 1);
      });
      return below + child;
    }
  };
  EXPECT_EQ(pool.run([] { return nest::down(3000); }), 3000);
}

TEST_P(scope_forks, spawn_into_their_scope) {
  for (std::size_t round = 0, n = scaled(100); round != n; ++round)
    pool.run([&] {
      std::atomic<int> ran{0};
      rubato::with_scope([&](rubato::scope& s) {
        s.spawn([&] {
          for (int i = 0; i != 3; ++i)
            s.spawn([&] {
              ++ran;
              s.spawn([&] { ++ran; });
            });
        });
      });
      EXPECT_EQ(ran, 6);
    });
}

} // namespace
