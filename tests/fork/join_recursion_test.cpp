// Joins in joins: balanced, skewed, very deep; from within pools, from outside of all of them, from two at
// once.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"

#include <rubato/join.hpp>
#include <rubato/thread_pool.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

using namespace rubato_test;

namespace {

class join_recursion : public on_workers {};
RUBATO_TEST_WITH_WORKERS(join_recursion, all_counts);

std::uint64_t serial_fib(unsigned n) { return n < 2 ? n : serial_fib(n - 1) + serial_fib(n - 2); }

std::uint64_t fib(unsigned n) {
  if (n < 2) return n;
  auto [a, b] = rubato::join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

// As deep as the serial program would be, hence threads with a large stack. ThreadSanitizer keeps its own,
// short, stack of calls.
constexpr int deep = under_tsan ? 1'000 : 100'000;
constexpr std::size_t large_stack = std::size_t{1} << 30;

int small_first(int n) {
  if (n == 0) return 0;
  auto [one, rest] = rubato::join([] { return 1; }, [n] { return small_first(n - 1); });
  return one + rest;
}

int small_last(int n) {
  if (n == 0) return 0;
  auto [rest, one] = rubato::join([n] { return small_last(n - 1); }, [] { return 1; });
  return one + rest;
}

/// Runs f on a thread of the pool itself: the test's own stack is too small.
template<class F>
int on_own_thread(rubato::pool& pool, F f) {
  milestone done;
  int result = 0;
  pool.enqueue([&] {
    result = f();
    done.reach();
  });
  EXPECT_TRUE(done.wait());
  pool.wait_idle();
  return result;
}

class deep_recursion : public testing::TestWithParam<unsigned> {
protected:
  hang_guard guard;
  rubato::pool pool{rubato_test::with_workers(GetParam()).stack_size(large_stack)};
};
RUBATO_TEST_WITH_WORKERS(deep_recursion, counts_with_workers);

TEST_P(join_recursion, at_every_call_gives_the_serial_result) {
  unsigned const n = under_tsan ? 16 : 22;
  EXPECT_EQ(pool.run([&] { return fib(n); }), serial_fib(n));
}

TEST_P(join_recursion, in_both_halves_of_a_join_uses_one_pool) {
  std::atomic<int> strangers{0};
  struct tree {
    static int leaves(rubato::pool* pool, int depth, std::atomic<int>& strangers) {
      if (rubato::current_pool() != pool) ++strangers;
      if (depth == 0) return 1;
      auto [a, b] = rubato::join([&] { return leaves(pool, depth - 1, strangers); },
                                 [&] { return leaves(pool, depth - 1, strangers); });
      return a + b;
    }
  };
  EXPECT_EQ(pool.run([&] { return tree::leaves(&pool, 10, strangers); }), 1024);
  EXPECT_EQ(strangers.load(), 0);
}

TEST_P(join_recursion, works_again_and_again_from_the_outside) {
  for (unsigned round = 0; round != 200; ++round) {
    ASSERT_EQ(pool.run([round] { return fib(round % 12); }), serial_fib(round % 12));
  }
}

TEST_P(join_recursion, works_from_many_outside_threads_at_once) {
  std::vector<std::uint64_t> results(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i != results.size(); ++i) {
    threads.emplace_back([&, i] {
      auto const n = static_cast<unsigned>(10 + i % 4);
      for (int round = 0; round != 20; ++round) results[i] += pool.run([n] { return fib(n); });
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i != results.size(); ++i) {
    EXPECT_EQ(results[i], 20 * serial_fib(static_cast<unsigned>(10 + i % 4)));
  }
}

TEST_P(join_recursion, works_across_two_pools) {
  rubato::pool other(2);
  auto const across = [&](unsigned n) {
    auto [here, there] =
        rubato::join([n] { return fib(n); },
                     [&, n] {
                       return rubato::join(
                           other, [&, n] { return rubato::current_pool() == &other ? fib(n) : 0; },
                           [n] { return fib(n); });
                     });
    return here + there.first + there.second;
  };
  for (int round = 0; round != 20; ++round) {
    ASSERT_EQ(pool.run([&] { return across(12); }), 3 * serial_fib(12));
  }
}

TEST(join_from_outside, uses_the_global_pool) {
  hang_guard const guard;
  ASSERT_EQ(rubato::current_pool(), nullptr);
  auto const here = [] { return rubato::current_pool(); };
  auto [a, b] = rubato::join(here, here);
  EXPECT_EQ(a, &rubato::pool::global());
  EXPECT_EQ(b, &rubato::pool::global());
  EXPECT_EQ(rubato::current_pool(), nullptr);
  EXPECT_EQ(rubato::current_worker(), std::nullopt);
  EXPECT_EQ(fib(15), serial_fib(15));
}

TEST(join_from_outside, runs_both_halves_at_once) {
  hang_guard const guard;
  auto& global = rubato::pool::global();
  unsigned const before = global.resize(4);
  rendezvous both(2);
  auto [a, b] = rubato::join([&] { return both.meet(); }, [&] { return both.meet(); });
  EXPECT_TRUE(a);
  EXPECT_TRUE(b);
  global.resize(before);
}

TEST(join_from_outside, leaves_an_outsider_outside_when_it_throws) {
  hang_guard const guard;
  EXPECT_THROW(rubato::join([] { throw 1; }, [] {}), int);
  EXPECT_EQ(rubato::current_pool(), nullptr);
  EXPECT_EQ(rubato::current_worker(), std::nullopt);
}

TEST_P(deep_recursion, with_the_rest_in_the_second_half) {
  EXPECT_EQ(on_own_thread(pool, [] { return small_first(deep); }), deep);
}

TEST_P(deep_recursion, with_as_many_latent_halves_as_levels) {
  EXPECT_EQ(on_own_thread(pool, [] { return small_last(deep); }), deep);
}

TEST_P(deep_recursion, that_throws_at_the_bottom_unwinds_to_the_top) {
  struct pit {
    static int down(int n, int& unwound) {
      struct count {
        int& n;
        ~count() { ++n; }
      } const counter{unwound};
      if (n == 0) throw 42;
      auto [rest, one] = rubato::join([&] { return down(n - 1, unwound); }, [] { return 1; });
      return rest + one;
    }
  };
  // f is always the deep half, so that one thread goes all the way down and the count needs no atomic.
  int const depth = deep / 10;
  int unwound = 0;
  auto const fall = [&] {
    try {
      return pit::down(depth, unwound);
    } catch (int value) {
      return value;
    }
  };
  EXPECT_EQ(on_own_thread(pool, fall), 42);
  EXPECT_EQ(unwound, depth + 1);
}

} // namespace
